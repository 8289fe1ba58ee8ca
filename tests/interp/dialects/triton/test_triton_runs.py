"""What single ops of Triton compute, what launches refuse, and their errors."""

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, product
from pathlib import Path
from statistics import NormalDist
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.command.main import main
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.dialects.triton import launching
from halfulp.interp.dialects.triton.libraries import FUNCTIONS
from halfulp.interp.run.shadows import shadow_of

PROGRAM = """
tt.func public @f(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {{
  %0 = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32>
  %1 = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %2 = tt.addptr %1, %0 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %x = tt.load %2 : tensor<8x!tt.ptr<f32>>
{0}
  %8 = tt.splat %q : !tt.ptr<f32> -> tensor<{1}x!tt.ptr<f32>>
  %r = tt.make_range {{end = {1} : i32, start = 0 : i32}} : tensor<{1}xi32>
  %9 = tt.addptr %8, %r : tensor<{1}x!tt.ptr<f32>>, tensor<{1}xi32>
  tt.store %9, %y : tensor<{1}x!tt.ptr<f32>>
  tt.return
}}
"""
X = np.array([1, 2, 3, 4, -5, 6, 7, 8], np.float32)


def results(body: str, size: int = 8, **options: Any) -> list[float]:
    """Return what ops on the eight numbers of X, as ``%x``, make of them, as ``%y``."""
    y = np.zeros(size, np.float32)
    hu.run(PROGRAM.format(body, size), X.copy(), y, grid=1, **options)
    found: list[float] = y.tolist()
    return found


ADD = "^bb0(%a: f32, %b: f32):\n %s = arith.addf %a, %b : f32\n"
SCAN = '%y = "tt.scan"(%x) <{axis = 0 : i32, reverse = {0}}> ({\n{1} tt.scan.return %s : f32\n}) : (tensor<8xf32>) -> tensor<8xf32>'
TENSOR = "tensor<8xf32>"
BODIES: Sequence[tuple[str, Sequence[float]]] = (
    (SCAN.replace("{0}", "false").replace("{1}", ADD), [1, 3, 6, 10, 5, 11, 18, 26]),
    (SCAN.replace("{0}", "true").replace("{1}", ADD), [26, 25, 23, 20, 16, 21, 15, 8]),
    (
        f'%s = "tt.reduce"(%x) <{{axis = 0 : i32}}> ({{\n{ADD.replace("%s", "%t")} tt.reduce.return %t : f32\n}}) : '
        f"({TENSOR}) -> f32\n %y = tt.splat %s : f32 -> {TENSOR}",
        [26] * 8,
    ),
    (
        # Rows and columns: 2 x 4, transposed, and back in another order.
        f"%a = tt.reshape %x : {TENSOR} -> tensor<2x4xf32>\n"
        "%b = tt.trans %a {order = array<i32: 1, 0>} : tensor<2x4xf32> -> tensor<4x2xf32>\n"
        f"%y = tt.reshape %b : tensor<4x2xf32> -> {TENSOR}",
        [1, -5, 2, 6, 3, 7, 4, 8],
    ),
    (
        f"%a = tt.reshape %x : {TENSOR} -> tensor<4x2xf32>\n"
        "%b, %c = tt.split %a : tensor<4x2xf32> -> tensor<4xf32>\n"
        "%d = tt.join %c, %b : tensor<4xf32> -> tensor<4x2xf32>\n"
        f"%y = tt.reshape %d : tensor<4x2xf32> -> {TENSOR}",
        [2, 1, 4, 3, 6, -5, 8, 7],
    ),
    (
        f"%a = tt.reshape %x : {TENSOR} -> tensor<4x2xf32>\n"
        "%b, %c = tt.split %a : tensor<4x2xf32> -> tensor<4xf32>\n"
        f"%y = tt.cat %b, %c : tensor<4xf32> -> {TENSOR}",
        [1, 3, -5, 7, 2, 4, 6, 8],
    ),
    (
        "%seven = arith.constant dense<7> : tensor<8xi32>\n %i = arith.subi %seven, %0 : tensor<8xi32>\n"
        f"%y = tt.gather %x[%i] {{axis = 0 : i32}} : ({TENSOR}, tensor<8xi32>) -> {TENSOR}",
        X[::-1].tolist(),
    ),
    (
        f"%l = arith.constant dense<-1.0> : {TENSOR}\n %h = arith.constant dense<4.0> : {TENSOR}\n"
        f"%y = tt.clampf %x, %l, %h, propagateNan = none : {TENSOR}",
        [1, 2, 3, 4, -1, 4, 4, 4],
    ),
    (
        # Pointers are reduced like numbers: the last one of eight.
        '%l = "tt.reduce"(%2) <{axis = 0 : i32}> ({\n^bb0(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>):\n'
        " tt.reduce.return %b : !tt.ptr<f32>\n}) : (tensor<8x!tt.ptr<f32>>) -> !tt.ptr<f32>\n"
        f"%s = tt.load %l : !tt.ptr<f32>\n %y = tt.splat %s : f32 -> {TENSOR}",
        [8] * 8,
    ),
    (f"%y = tt.precise_divf %x, %x : {TENSOR}", [1] * 8),
    (f"%y = tt.approx_divf %x, %x : {TENSOR}", [1] * 8),
    # 2^-10 more than 1 is cut off.
    (
        f"%c = arith.constant dense<1.0009765625> : {TENSOR}\n"
        f"%a = tt.fp_to_fp %c, rounding = rtz : {TENSOR} -> tensor<8xf8E5M2>\n"
        f"%y = tt.fp_to_fp %a : tensor<8xf8E5M2> -> {TENSOR}",
        [1] * 8,
    ),
    (
        # -1 times -1 of 32 bits without a sign has the high word 2^32 - 2.
        "%c = arith.constant dense<-1> : tensor<8xi32>\n %m = tt.mulhiui %c, %c : tensor<8xi32>\n"
        f"%y = arith.sitofp %m : tensor<8xi32> to {TENSOR}",
        [-2] * 8,
    ),
    (
        # An address keeps what it points to.
        "%a = tt.ptr_to_int %2 : tensor<8x!tt.ptr<f32>> -> tensor<8xi64>\n"
        "%b = tt.int_to_ptr %a : tensor<8xi64> -> tensor<8x!tt.ptr<f32>>\n"
        "%y = tt.load %b : tensor<8x!tt.ptr<f32>>",
        X.tolist(),
    ),
    (
        # Elements that the mask leaves out are those of the other value.
        "%four = arith.constant dense<4> : tensor<8xi32>\n %m = arith.cmpi slt, %0, %four : tensor<8xi32>\n"
        f"%z = arith.constant dense<9.0> : {TENSOR}\n%y = tt.load %2, %m, %z : tensor<8x!tt.ptr<f32>>",
        [1, 2, 3, 4, 9, 9, 9, 9],
    ),
)


@each_row(*BODIES)
def test_ops(body: str, expected: Sequence[float]) -> None:
    assert results(body) == list(expected)


def test_scans_are_one_op_after_the_other() -> None:
    """Bit for bit by the scalar functions, where the quick ways are right and where they are not."""
    draw = np.random.default_rng(3)
    body = (SCAN.replace("{1}", ADD) + "\n").replace("tensor<8x", "tensor<64x")
    program = PROGRAM.replace("8", "64").replace("%64", "%8").format(body.replace("{0}", "false"), 64)
    operations: Sequence[tuple[str, Callable[[int, int], int]]] = (
        ("addf", lambda a, b: scalar.add(FORMATS["f32"], a, b).code),
        ("mulf", lambda a, b: scalar.multiply(FORMATS["f32"], a, b).code),
        ("subf", lambda a, b: scalar.subtract(FORMATS["f32"], a, b).code),
        ("maximumf", lambda a, b: scalar.maximum(FORMATS["f32"], a, b).code),
        ("minnumf", lambda a, b: scalar.minimum_number(FORMATS["f32"], a, b).code),
    )
    for special in (False, True):
        x = draw.standard_normal(64).astype(np.float32)
        if special:
            x[[30, 40, 41, 60]] = 0.0, np.inf, -np.inf, np.nan
        for (name, combine), reverse in product(operations, (False, True)):
            y = np.zeros_like(x)
            text = program.replace("arith.addf", f"arith.{name}")
            hu.run(text.replace("reverse = false", f"reverse = {str(reverse).lower()}"), x, y, grid=1)
            codes = x.view(np.uint32).tolist()[:: -1 if reverse else 1]
            assert y.view(np.uint32).tolist()[:: -1 if reverse else 1] == list(accumulate(codes, combine)), (
                name,
                special,
            )


ARGMAX = """%v, %i = "tt.reduce"(%x, %0) <{axis = 0 : i32}> ({
^bb0(%a: f32, %k: i32, %b: f32, %j: i32):
  %c = arith.cmpf {0}, %a, %b : f32
  %m = arith.select %c, %a, %b : f32
  %n = arith.select %c, %k, %j : i32
  tt.reduce.return %m, %n : f32, i32
}) : (tensor<8xf32>, tensor<8xi32>) -> (f32, i32)
%f = arith.sitofp %i : i32 to f32
%y = tt.splat %f : f32 -> tensor<8xf32>"""


@each_row(
    ("oge", [1, 4, 2, 4, 3, 4, 0, -4], 1),
    ("ogt", [1, 4, 2, 4, 3, 4, 0, -4], 5),
    # Each comparison with NaN is false: the later element stays, whatever came before.
    ("oge", [9, 4, 2, math.nan, 3, 4, 0, -4], 5),
    # Not associative: only in order the fourth element meets the first one.
    ("une", [1, 2, 2, 1, 3, 3, 4, 4], 3),
)
def test_reductions_of_pairs(predicate: str, x: Sequence[float], expected: int) -> None:
    y = np.zeros(8, np.float32)
    hu.run(PROGRAM.format(ARGMAX.replace("{0}", predicate), 8), np.array(x, np.float32), y, grid=1)
    assert y.tolist() == [expected] * 8


def test_what_a_user_gives_a_meaning() -> None:
    def doubled(x: hu.Value) -> Any:
        return x + x

    extern = (
        '%y = tt.extern_elementwise %x {libname = "libdevice", libpath = "", pure = true, symbol = "__nv_twice"} : '
        "(tensor<8xf32>) -> tensor<8xf32>"
    )
    asm = (
        '%y = tt.elementwise_inline_asm "twice $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true} '
        "%x : tensor<8xf32> -> tensor<8xf32>"
    )
    for body, name in ((extern, "__nv_twice"), (asm, "twice $0, $1;")):
        assert results(body, externals={name: doubled}) == (2 * X).tolist()
        with pytest.raises(hu.Unsupported, match=re.escape(f"'{name}' is not known")):
            results(body)
    with pytest.raises(hu.VerifyError, match="packed_element must be at least 1, but is 0"):
        results(asm.replace("packed_element = 1", "packed_element = 0"))


CALL = '%y = tt.extern_elementwise {0} {{libname = "", libpath = "", pure = true, symbol = "{1}"}} : ({2}) -> tensor<8x{3}>'
STORE = """
tt.func public @f(%p: !tt.ptr<{0}>, %q: !tt.ptr<{1}>) {{
  %i = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32>
  %p8 = tt.splat %p : !tt.ptr<{0}> -> tensor<8x!tt.ptr<{0}>>
  %pi = tt.addptr %p8, %i : tensor<8x!tt.ptr<{0}>>, tensor<8xi32>
  %x = tt.load %pi : tensor<8x!tt.ptr<{0}>>
  {2}
  %q8 = tt.splat %q : !tt.ptr<{1}> -> tensor<8x!tt.ptr<{1}>>
  %qi = tt.addptr %q8, %i : tensor<8x!tt.ptr<{1}>>, tensor<8xi32>
  tt.store %qi, %y : tensor<8x!tt.ptr<{1}>>
  tt.return
}}
"""
# The functions of the C library that have the names of those of libdevice and OCML, apart from their beginnings.
NAMED: dict[str, Callable[..., float]] = {
    "fabs": abs,
    "pow": math.pow,
    "rint": round,
    "nearbyint": round,
    "rsqrt": lambda x: 1 / math.sqrt(x),
}
NAMED |= {"cospi": lambda x: math.cos(math.pi * x), "sinpi": lambda x: math.sin(math.pi * x), "tgamma": math.gamma}
NAMED |= {"exp10": lambda x: 10.0**x, "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x)}
NAMED |= {"erfinv": lambda x: NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)}


def test_functions_of_libraries() -> None:
    """Each function of one or two floats has the value that its name says, to 2 ulp of f32."""
    seen = 0
    for symbol in FUNCTIONS:
        found = re.fullmatch(r"__nv_(?:fast_)?([a-z]\w*?[a-z0-9])f?|__ocml_(\w+)_f(?:32|64)", symbol)
        name = (found[1] or found[2]) if found else ""
        function = NAMED.get(name) or getattr(math, name, None)
        if function is None or name in ("isnan", "isinf", "isfinite", "fma"):
            continue
        wide = symbol.endswith("_f64") or (symbol.startswith("__nv_") and f"{symbol}f" in FUNCTIONS)
        type_, dtype = ("f64", np.float64) if wide else ("f32", np.float32)
        x = np.linspace(0.125, 0.875, 8, dtype=dtype) + (1 if name == "acosh" else 0)
        two = name in ("atan2", "hypot", "pow", "copysign", "fmod")
        tensor = f"tensor<8x{type_}>"
        body = CALL.format("%x, %x" if two else "%x", symbol, ", ".join([tensor] * (1 + two)), type_)
        y = np.zeros(8, dtype)
        hu.run(STORE.format(type_, type_, body), x, y, grid=1)
        expected = np.array([function(*[float(each)] * (1 + two)) for each in x])
        assert np.allclose(y, expected, rtol=2.0**-22, atol=0), symbol
        seen += 1
    assert seen > 100


def test_functions_of_libraries_that_are_rounded_in_a_direction() -> None:
    f32, x = FORMATS["f32"], np.array([3, 5, 7, 9, 11, -13, 1e-3, 1e3], np.float32)
    codes = [int(code) for code in x.view(np.uint32)]
    for ending, mode in (("rn", 0), ("rd", 1), ("ru", 2), ("rz", 3)):
        quotients = [scalar.divide(f32, 0x3F800000, code, mode).code for code in codes]
        body = CALL.format("%x", f"__nv_frcp_{ending}", "tensor<8xf32>", "f32")
        y = np.zeros(8, np.float32)
        hu.run(STORE.format("f32", "f32", body), x, y, grid=1)
        assert y.view(np.uint32).tolist() == quotients


def test_what_functions_of_libraries_leave_open() -> None:
    for symbol, opens in (
        ("__nv_rsqrtf", True),
        ("__nv_fast_expf", True),
        ("__nv_floorf", False),
        ("__nv_fsqrt_rn", False),
    ):
        body = CALL.format("%x", symbol, "tensor<8xf32>", "f32")
        out = hu.Buffer.from_numpy(np.zeros(8, np.float32))
        hu.run(STORE.format("f32", "f32", body), np.arange(1, 9, dtype=np.float32), out, grid=1, track_open=True)
        assert bool(np.any(out.load().open)) == opens, symbol
    # A test of a number gives an i32.
    numbers = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -2], np.float32)
    for symbol, test in (("__nv_isnanf", np.isnan), ("__nv_isinff", np.isinf), ("__nv_finitef", np.isfinite)):
        flags = np.full(8, 7, np.int32)
        body = CALL.format("%x", symbol, "tensor<8xf32>", "i32")
        hu.run(STORE.format("f32", "i32", body), numbers, flags, grid=1)
        assert flags.tolist() == test(numbers).tolist()


# --- memory -----------------------------------------------------------------------------------------------------------

ONE = "%v = arith.constant 1.0 : f32\n %i = arith.constant {} : i32\n %a = tt.addptr %p, %i : !tt.ptr<f32>, i32\n"
TO_BYTES = "%b = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i8>\n %i = arith.constant {} : i32\n"
AT_BYTE = (
    "%c = tt.addptr %b, %i : !tt.ptr<i8>, i32\n %a = tt.bitcast %c : !tt.ptr<i8> -> !tt.ptr<f32>\n"
    "%v = tt.load %a : !tt.ptr<f32>"
)
PROGRAM_ID = "%v0 = tt.get_program_id x : i32\n %v = arith.sitofp %v0 : i32 to f32\n"
WRONG = (
    (
        f"{ONE.format(4)} tt.store %a, %v : !tt.ptr<f32>",
        "byte 16, an element of 4 bytes, is outside of the 16 bytes of",
    ),
    (f"{ONE.format(-1)} tt.store %a, %v : !tt.ptr<f32>", "byte -4, an element of 4 bytes, is outside of"),
    (TO_BYTES.format(2) + AT_BYTE, "byte 2, an element of 4 bytes, is misaligned in"),
    (f"{PROGRAM_ID} tt.store %p, %v : !tt.ptr<f32>", "a race: program 0 wrote other bits to byte 0"),
    (
        "%0 = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>\n"
        "%v = arith.sitofp %0 : tensor<2xi32> to tensor<2xf32>\n"
        "%q = tt.splat %p : !tt.ptr<f32> -> tensor<2x!tt.ptr<f32>>\n tt.store %q, %v : tensor<2x!tt.ptr<f32>>",
        "two elements are stored with different bits to byte 0",
    ),
    (
        "%z = arith.constant 0 : i64\n %a = tt.int_to_ptr %z : i64 -> !tt.ptr<f32>\n %v = tt.load %a : !tt.ptr<f32>",
        "is outside of memory: null",
    ),
    (
        "%d = ub.poison : !tt.tensordesc<4xf32>\n %i = arith.constant 0 : i32\n"
        "%v = tt.descriptor_load %d[%i] : !tt.tensordesc<4xf32> -> tensor<4xf32>",
        "the descriptor is poison",
    ),
    (
        '%c = arith.constant false\n tt.assert %c, "n must be even" : i1',
        "the assertion fails: n must be even",
    ),
)


@each_row(*WRONG)
def test_undefined_behavior(body: str, message: str) -> None:
    text = f"tt.func @f(%p: !tt.ptr<f32>) {{\n {body}\n tt.return\n}}"
    with pytest.raises(hu.UndefinedBehavior, match=re.escape(message)) as caught:
        hu.run(text, np.zeros(4, np.float32), grid=2)
    assert re.search(r"\(program \[[01], 0, 0\] of the grid \[2, 1, 1\]\)", str(caught.value))


def test_errors_name_the_line_of_the_kernel_and_the_element() -> None:
    text = """
    tt.func @f(%p: !tt.ptr<f32>) {
      %0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
      %1 = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
      %2 = tt.addptr %1, %0 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %3 = tt.load %2 : tensor<8x!tt.ptr<f32>> loc("kernel.py":7:12)
      tt.return
    }"""
    with pytest.raises(hu.UndefinedBehavior, match=r"kernel\.py:7:12: .*\(element \[5\], the first of 3\)"):
        hu.run(text, np.zeros(5, np.float32), grid=1 << 30)  # the grid takes no memory


IN_PLACE = """
tt.func public @f(%p: !tt.ptr<f32>) {{
  %c = arith.constant {0} : i32
  %one = arith.constant 1.0 : f32
  %i = tt.get_program_id x : i32
  %j = arith.{1} %i, %c : i32
  %a = tt.addptr %p, %i : !tt.ptr<f32>, i32
  %b = tt.addptr %p, %j : !tt.ptr<f32>, i32
  {2}
  %x = tt.load %b : !tt.ptr<f32>
  %y = arith.{3} %x, %one : f32
  tt.store %a, %y : !tt.ptr<f32>
  tt.return
}}"""
FENCE = (
    "%t = arith.constant true\n %z = arith.constant 0 : i32\n %q = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32>\n"
    "%l = tt.addptr %q, %c : !tt.ptr<i32>, i32\n %o = tt.atomic_rmw add, acq_rel, gpu, %l, %z, %t : (!tt.ptr<i32>, i32, i1) -> i32"
)


@each_row(
    # Program i reads element j and writes element i.
    ((1, "addi", "", "addf"), "program 0 has read other bits before the write to byte 4"),
    ((3, "remsi", "", "addf"), "a read after program 0 has written other bits to byte 0"),
    ((0, "muli", "", "addf"), "a read after program 0 has written other bits to byte 0"),
    ((0, "addi", "", "addf"), ""),
    ((4, "addi", "", "addf"), ""),
    # A write of the same bits changes nothing, and after an atomic op programs may know of each other.
    ((0, "muli", "", "mulf"), ""),
    ((3, "remsi", FENCE, "addf"), ""),
)
def test_reads_and_writes_of_programs_race(parts: Sequence[Any], message: str) -> None:
    for _ in range(3):  # a launch that is repeated runs by a plan
        data = np.array([1, 1, 1, 1, 5, 6, 7, 8], np.float32)
        if message:
            with pytest.raises(hu.UndefinedBehavior, match=f"a race: {message} of argument 0"):
                hu.run(IN_PLACE.format(*parts), data, grid=4)
        else:
            hu.run(IN_PLACE.format(*parts), data, grid=4)


def test_a_masked_lane_touches_nothing() -> None:
    text = """
    tt.func @f(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32) {
      %0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
      %s = tt.splat %n : i32 -> tensor<8xi32>
      %m = arith.cmpi slt, %0, %s : tensor<8xi32>
      %1 = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
      %2 = tt.addptr %1, %0 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %3 = tt.load %2, %m : tensor<8x!tt.ptr<f32>>
      %4 = arith.addf %3, %3 : tensor<8xf32>
      %5 = tt.splat %q : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
      %6 = tt.addptr %5, %0 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      tt.store %6, %4{} : tensor<8x!tt.ptr<f32>>
      tt.return
    }}"""
    y = np.full(8, 7, np.float32)
    hu.run(text.replace("{}", ", %m").replace("}}", "}"), X[:3].copy(), y, 3, grid=1)
    assert y.tolist() == [2, 4, 6, 7, 7, 7, 7, 7]
    # GPUs have a 0 where the load left something out.
    zeros = np.full(8, 7, np.float32)
    every = text.replace("{}", "").replace("}}", "}")
    hu.run(every, X[:3].copy(), zeros, 3, grid=1, profile="spec,masked_load=zero")
    assert zeros.tolist() == [2, 4, 6, 0, 0, 0, 0, 0]
    # Without a mask the store takes what the load left undefined: the memory is poison there.
    memory = hu.Buffer.from_numpy(y)
    hu.run(every, X[:3].copy(), memory, 3, grid=1)
    assert memory.load().poisoned.tolist() == [False] * 3 + [True] * 5
    with pytest.raises(hu.TypeMismatch, match=r"stored poison in the array: 5 of 8 elements are poison") as caught:
        hu.run(every, X[:3].copy(), y, 3, grid=1)
    assert "profile='spec,masked_load=zero'" in str(caught.value.hint)


def test_atomics_take_effect_in_the_order_of_programs_and_elements() -> None:
    text = """
    tt.func @f(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>) {
      %0 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
      %1 = tt.splat %p : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
      %2 = tt.atomic_rmw add, acq_rel, gpu, %1, %0 : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4xi32>
      %x = tt.get_program_id x : i32
      %c4 = arith.constant 4 : i32
      %y = arith.muli %x, %c4 : i32
      %b = tt.splat %y : i32 -> tensor<4xi32>
      %i = arith.addi %b, %0 : tensor<4xi32>
      %5 = tt.splat %q : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
      %6 = tt.addptr %5, %i : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
      tt.store %6, %2 : tensor<4x!tt.ptr<i32>>
      tt.return
    }"""
    total, old = np.zeros(1, np.int32), np.zeros(8, np.int32)
    hu.run(text, total, old, grid=2)
    assert total.tolist() == [12]
    assert old.tolist() == [0, 0, 1, 3, 6, 6, 7, 9]


def test_descriptors_pad_what_is_outside_and_do_not_store_it() -> None:
    text = """
    tt.func @f(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32) {
      %c1 = arith.constant 1 : i64
      %c3 = arith.constant 3 : i64
      %r = arith.constant -1 : i32
      %c = arith.constant 2 : i32
      %z = arith.constant 0 : i32
      %0 = tt.make_tensor_descriptor %p, [%n, %n], [%c3, %c1] {padding = 2 : i32} : <f32>, <2x2xf32>
      %1 = tt.make_tensor_descriptor %q, [%n, %n], [%c3, %c1] : <f32>, <2x2xf32>
      %2 = tt.descriptor_load %0[%r, %c] : !tt.tensordesc<2x2xf32> -> tensor<2x2xf32>
      tt.descriptor_store %1[%z, %c], %2 : !tt.tensordesc<2x2xf32>, tensor<2x2xf32>
      tt.return
    }"""
    x, y = np.arange(9, dtype=np.float32), np.zeros(9, np.float32)
    hu.run(text, x, y, 3, grid=1)
    # The block has the rows -1 and 0 and the columns 2 and 3: three of its elements are outside.
    assert np.isnan(y[2])
    assert y[5] == 2
    assert (np.delete(y, [2, 5]) == 0).all()


def test_rows_fit_the_block_of_their_descriptor() -> None:
    text = """
    tt.func @f(%p: !tt.ptr<f32>, %z: i32) {{
      %r = ub.poison : tensor<8xi32>
      %d = ub.poison : {0}
      %y = tt.descriptor_gather %d[%r, %z] : ({0}, tensor<8xi32>, i32) -> {1}
      tt.descriptor_scatter %d[%r, %z], %y : {0}, tensor<8xi32>, i32, {1}
      tt.return
    }}"""
    hu.load(text.format("!tt.tensordesc<1x4xf32>", "tensor<8x4xf32>"))
    for block, tensor, message in (
        ("8xf32", "8x4xf32", "two dimensions and one row"),
        ("4x4xf32", "8x4xf32", "two dimensions and one row"),
        ("1x4xf32", "4x4xf32", r"must have the shape \[8, 4\]"),
        ("1x4xf32", "8xf32", r"must have the shape \[8, 4\]"),
        ("1x4xf32", "8x4xf16", "must have elements of type 'f32'"),
    ):
        with pytest.raises(hu.VerifyError, match=message):
            hu.load(text.format(f"!tt.tensordesc<{block}>", f"tensor<{tensor}>"))


DOT = """
tt.func @f(%p: !tt.ptr<f8E4M3FN>, %q: !tt.ptr<f32>) {
  %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %s = tt.splat %p : !tt.ptr<f8E4M3FN> -> tensor<256x!tt.ptr<f8E4M3FN>>
  %t = tt.addptr %s, %i : tensor<256x!tt.ptr<f8E4M3FN>>, tensor<256xi32>
  %l = tt.load %t : tensor<256x!tt.ptr<f8E4M3FN>>
  %a = tt.reshape %l : tensor<256xf8E4M3FN> -> tensor<16x16xf8E4M3FN>
  %c = arith.constant dense<0.5> : tensor<16x16xf32>
  %d = tt.dot %a, %a, %c, inputPrecision = tf32 : tensor<16x16xf8E4M3FN> * tensor<16x16xf8E4M3FN> -> tensor<16x16xf32>
  %e = tt.reshape %d : tensor<16x16xf32> -> tensor<256xf32>
  %u = tt.splat %q : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %v = tt.addptr %u, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  tt.store %v, %e : tensor<256x!tt.ptr<f32>>
  tt.return
}"""


def test_a_dot_is_exact_and_open() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(-8, 9, (16, 16)).astype(ml_dtypes.float8_e4m3fn)
    out = hu.Buffer.from_numpy(np.zeros((16, 16), np.float32))
    hu.run(DOT, a, out, grid=1, track_open=True)
    numbers = a.astype(np.float64)
    assert (out.numpy() == numbers @ numbers + 0.5).all()
    assert np.all(out.load().open)
    with pytest.raises(hu.Unsupported, match=r"tt\.dot: chip:hopper: how hardware computes .* is not published"):
        hu.run(DOT, a, out, grid=1, mma="chip:hopper")


def test_shadows_go_through_memory() -> None:
    """The sum of 1 and 2^-30 loses the second number, whatever the way to it."""
    body = "%c = arith.constant dense<9.3132257461547852e-10> : tensor<8xf32>\n %y = arith.addf %x, %c : tensor<8xf32>"
    out = hu.Buffer.from_numpy(np.zeros(8, np.float32))
    traced = hu.trace(PROGRAM.format(body, 8), np.ones(8, np.float32), out, grid=1, shadow=True)
    assert traced.errors is not None
    lines = list(traced.errors.lines())
    assert lines[0].endswith("argument[0]: tensor<8xf32>: exact")
    assert "argument[1]: tensor<8xf32>: largest error -0.00781 ulp" in lines[1]


def test_the_shadow_of_a_dot_is_the_exact_sum() -> None:
    codes = np.random.default_rng(3).integers(0, 126, (16, 16)).astype(np.uint8)
    a, out = codes.view(ml_dtypes.float8_e4m3fn), hu.Buffer.from_numpy(np.zeros((16, 16), np.float32))
    # In sequence by fused multiply-adds, which round after each product.
    errors = hu.trace(DOT, a, out, grid=1, shadow=True, mma="ieee").errors
    assert errors is not None
    shadow = shadow_of(errors.ends["argument[1]"])
    assert shadow is not None
    numbers = [[Fraction(float(each)) for each in row] for row in a]
    exact = [
        sum((x * y for x, y in zip(row, column, strict=True)), Fraction(1, 2))
        for row in numbers
        for column in zip(*numbers, strict=True)
    ]
    found = errors.ends["argument[1]"].numpy().reshape(-1)
    assert any(Fraction(float(each)) != right for each, right in zip(found, exact, strict=True))
    for each, right, error, radius in zip(
        found, exact, shadow.error.reshape(-1), shadow.radius.reshape(-1), strict=True
    ):
        assert abs(Fraction(float(each)) + Fraction(float(error)) - right) <= Fraction(float(radius))
        assert radius <= 2.0**-50 * float(right)
    assert "of %d = tt.dot %a, %a, %c" in "\n".join(errors.lines())


# --- launches ---------------------------------------------------------------------------------------------------------


def test_what_a_launch_refuses() -> None:
    text = PROGRAM.format("%y = arith.addf %x, %x : tensor<8xf32>", 8)
    y = np.zeros(8, np.float32)
    frozen = y.copy()
    frozen.flags.writeable = False
    with pytest.raises(hu.TypeMismatch, match=r"give the grid: grid=\(4, 1\)"):
        hu.run(text, X, y)
    with pytest.raises(ValueError, match="is not a grid"):
        hu.run(text, X, y, grid=(1, 2, 3, 4))
    with pytest.raises(hu.TypeMismatch, match="argument 0"):
        hu.run(text, X.astype(np.float64), y, grid=1)
    with pytest.raises(hu.TypeMismatch, match="a view that goes backwards"):
        hu.run(text, X, np.zeros(16, np.float32)[::-2], grid=1)
    with pytest.raises(hu.Unsupported, match="give a larger grid"):
        hu.run(text, X, y, batch=True, grid=1)
    for wrong in (0, 1.5, (1.5,), "4"):
        with pytest.raises(ValueError, match="is not a grid"):
            hu.run(text, X, y, grid=wrong)  # type: ignore[arg-type]
    # A store in an array in another byte order would be lost with the copy of it.
    for constant in (frozen, hu.Value.from_numpy(y), y.astype(">f4")):
        with pytest.raises(hu.UndefinedBehavior, match="must not be written"):
            hu.run(text, X, constant, grid=1)
    assert (y == 0).all()
    # An array of any shape is memory.
    hu.run(text, X.reshape(2, 4), y.reshape(4, 2), grid=1)
    assert y.tolist() == (2 * X).tolist()
    # So is a view: the array that it is a view of, from the first element of the view on.
    whole = np.zeros(12, np.float32)
    hu.run(text, X.reshape(2, 4).T, whole[2:].reshape(2, 5)[:, :2], grid=1)
    assert whole.tolist() == [0, 0, *(2 * X).tolist(), 0, 0]
    with pytest.raises(hu.UndefinedBehavior, match="outside of the 28 bytes"):
        hu.run(text, X, whole[5:].reshape(7, 1)[::2], grid=1)


def scaled(kind: str, element: str, scale: str) -> str:
    """Return a product of scaled blocks, without their values."""
    a, b, c = f"tensor<16x32x{element}>", f"tensor<32x16x{element}>", "tensor<16x16xf32>"
    values = "".join(f" %{name} = ub.poison : {type_}\n" for name, type_ in zip("abcs", (a, b, c, scale), strict=True))
    return (
        f"{values} %d = tt.dot_scaled %a scale %s, %b scale %s, %c lhs = {kind} rhs = {kind} {{fastMath = false}} : "
        f"{a}, {scale} * {b}, {scale} -> {c}"
    )


def dot(element: str, total: str) -> str:
    """Return a product of elements of one type to a sum of another, without their values."""
    a, c = f"tensor<16x16x{element}>", f"tensor<16x16x{total}>"
    return f"%a = ub.poison : {a}\n %c = ub.poison : {c}\n %d = tt.dot %a, %a, %c : {a} * {a} -> {c}"


def whole(name: str, shape: tuple[int, int], element: str) -> str:
    """Return the ops that load a matrix, with names that begin with that of the pointer."""
    rows, columns = shape
    return f"""
  %{name}0 = tt.make_range {{end = {rows * columns} : i32, start = 0 : i32}} : tensor<{rows * columns}xi32>
  %{name}1 = tt.splat %{name} : !tt.ptr<{element}> -> tensor<{rows * columns}x!tt.ptr<{element}>>
  %{name}2 = tt.addptr %{name}1, %{name}0 : tensor<{rows * columns}x!tt.ptr<{element}>>, tensor<{rows * columns}xi32>
  %{name}3 = tt.reshape %{name}2 : tensor<{rows * columns}x!tt.ptr<{element}>> -> tensor<{rows}x{columns}x!tt.ptr<{element}>>
  %{name}4 = tt.load %{name}3 : tensor<{rows}x{columns}x!tt.ptr<{element}>>"""


NVFP4 = f"""
tt.func @f(%a: !tt.ptr<i8>, %sa: !tt.ptr<f8E4M3FN>, %b: !tt.ptr<i8>, %sb: !tt.ptr<f8E4M3FN>, %c: !tt.ptr<f32>) {{
{whole("a", (16, 16), "i8")}{whole("sa", (16, 2), "f8E4M3FN")}{whole("b", (16, 16), "i8")}
{whole("sb", (16, 2), "f8E4M3FN")}{whole("c", (16, 16), "f32")}
  %d = tt.dot_scaled %a4 scale %sa4, %b4 scale %sb4, %c4 lhs = e2m1 rhs = e2m1 {{fastMath = false}} :
    tensor<16x16xi8>, tensor<16x2xf8E4M3FN> * tensor<16x16xi8>, tensor<16x2xf8E4M3FN> -> tensor<16x16xf32>
  tt.store %c3, %d : tensor<16x16x!tt.ptr<f32>>
  tt.return
}}"""


def test_nvfp4() -> None:
    """One f8E4M3FN scale for 16 elements of 4 bits. The sums have few bits, so f64 holds them."""
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 256, (16, 16)).astype(np.uint8) for _ in range(2))
    sa, sb = (random.uniform(0.5, 400, (16, 2)).astype(ml_dtypes.float8_e4m3fn) for _ in range(2))
    c = np.zeros((16, 16), np.float32)
    hu.run(NVFP4, a, sa, b, sb, c, grid=1)

    def numbers(codes: Any, scales: Any) -> Any:
        fours = np.stack([codes & 15, codes >> 4], axis=-1).reshape(16, 32).astype(np.uint8)
        return fours.view(ml_dtypes.float4_e2m1fn).astype(float) * np.repeat(scales.astype(float), 16, axis=1)

    expected = numbers(a, sa) @ numbers(b.T, sb).T
    assert np.array_equal(c, expected.astype(np.float32))


SCALE = "tensor<16x1xi8>"
NOT_RUN = (
    (
        "%i = ub.poison : tensor<8xi32>\n %h = tt.histogram %i : tensor<8xi32> -> tensor<4x2xi32>",
        "it must have one dimension",
    ),
    (
        "%v = arith.constant 1.0 : f32\n%o = tt.atomic_rmw max, acq_rel, gpu, %p, %v : (!tt.ptr<f32>, f32) -> f32",
        "'max' does not combine elements of type 'f32'",
    ),
    (
        "%v = arith.constant 1 : i32\n %b = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i32>\n"
        "%o = tt.atomic_rmw fadd, acq_rel, gpu, %b, %v : (!tt.ptr<i32>, i32) -> i32",
        "'fadd' does not combine elements of type 'i32'",
    ),
    (dot("f16", "i32"), "a product of 'f16' and 'f16' with a sum of 'i32'"),
    (dot("i8", "f32"), "a product of 'i8' and 'i8' with a sum of 'f32'"),
    (scaled("e4m3", "f8E5M2", SCALE), "are not those of the kind f8E4M3FN"),
    (scaled("e4m3", "f32", SCALE), "are not those of the kind f8E4M3FN"),
    (scaled("bf16", "i8", SCALE), "are not those of the kind bf16"),
    # Scales of a format that is no format of scales.
    (scaled("e2m1", "i8", "tensor<16x4xf8E5M2>"), "scales of type 'tensor<16x4xf8E5M2>' are not run"),
)


@each_row(*NOT_RUN)
def test_what_is_not_run_says_so(body: str, message: str) -> None:
    with pytest.raises(hu.Unsupported, match=re.escape(message)):
        hu.run(f"tt.func @f(%p: !tt.ptr<f32>) {{\n {body}\n tt.return\n}}", np.zeros(4, np.float32), grid=1)


POLL = """tt.func @f(%p: !tt.ptr<i32>) {
  %c = arith.constant 1 : i32
  %r = tt.atomic_poll relaxed, gpu, %p, %c : !tt.ptr<i32>, i32 -> i1
  tt.return
}"""


def test_an_op_that_is_not_run_is_named() -> None:
    with pytest.raises(hu.Unsupported, match=r"tt\.atomic_poll"):
        hu.run(POLL, np.zeros(4, np.int32), grid=1)


PARTS = """
#l = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%p: !tt.ptr<f32>, %n: i32) {
    %true = arith.constant true
    %false = arith.constant false
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    %3 = arith.constant 3 : i32
    %none = arith.constant dense<0.0> : tensor<128xf32, #l>
    %held = ttg.local_alloc : () -> MEM<128xf32, #s, #smem, mutable>
    %full = ttg.local_alloc : () -> BARRIER
    %empty = ttg.local_alloc : () -> BARRIER
    ttng.init_barrier %full, 1 : BARRIER
    ttng.init_barrier %empty, 2 : BARRIER
    ttng.wait_barrier %full, %0, %false : BARRIER
    ttng.arrive_barrier %full, 7, %false : BARRIER
    ttng.wait_barrier %full, %3 : BARRIER
    %sum = ttg.warp_specialize(%held, %full, %empty, %n)
    default {
      %all:2 = scf.for %i = %0 to %n step %1 iter_args(%acc = %none, %phase = %0) -> (tensor<128xf32, #l>, i32) : i32 {
        ttng.wait_barrier %full, %phase : BARRIER
        %x = ttg.local_load %held : MEM<128xf32, #s, #smem, mutable> -> tensor<128xf32, #l>
        ttng.arrive_barrier %empty, 2 : BARRIER
        %next = arith.addf %acc, %x : tensor<128xf32, #l>
        %other = arith.xori %phase, %1 : i32
        scf.yield %next, %other : tensor<128xf32, #l>, i32
      }
      ttg.warp_yield %all#0 : tensor<128xf32, #l>
    }
    partition0(%to: MEM<128xf32, #s, #smem, mutable>, %f: BARRIER, %e: BARRIER, %m: i32) num_warps(4) {
      %true_0 = arith.constant true
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %last = scf.for %i = %c0 to %m step %c1 iter_args(%phase = %c1) -> (i32) : i32 {
        ttng.wait_barrier %e, %phase : BARRIER
        %number = arith.addi %i, %c1 : i32
        %float = arith.sitofp %number : i32 to f32
        %value = tt.splat %float : f32 -> tensor<128xf32, #l>
        ttg.local_store %value, %to : tensor<128xf32, #l> -> MEM<128xf32, #s, #smem, mutable>
        ttng.arrive_barrier %f, 1, %true_0 : BARRIER
        %other = arith.xori %phase, %c1 : i32
        scf.yield %other : i32
      }
      ttg.warp_return
    } : (MEM<128xf32, #s, #smem, mutable>, BARRIER, BARRIER, i32) -> tensor<128xf32, #l>
    ttng.inval_barrier %full : BARRIER
    %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #l>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #l>
    %where = tt.addptr %s, %r : tensor<128x!tt.ptr<f32>, #l>, tensor<128xi32, #l>
    tt.store %where, %sum : tensor<128x!tt.ptr<f32>, #l>
    tt.return
  }
}
""".replace("BARRIER", "MEM<1xi64, #s, #smem, mutable>").replace("MEM", "!ttg.memdesc")
_INIT = "ttng.init_barrier %full, 1"
_EXPECT = "ttng.barrier_expect %full, {}, %true : !ttg.memdesc<1xi64, #s, #smem, mutable>\n"
WAITING = (
    # What is changed in the text, and the error that it makes.
    (
        "init_barrier %empty, 2", "init_barrier %empty, 3",
        "the default region waits for phase 1 of the barrier %full (1 of 1 arrivals and 0 bytes are missing) at "
        '"<string>":24:9; partition0 waits for phase 0 of the barrier %e (1 of 3 arrivals and 0 bytes are missing) at '
        '"<string>":38:9',
    ),
    ("(%phase = %c1)", "(%phase = %c0)", "partition0 waits for phase 0 of the barrier %e (2 of 2 arrivals and 0 bytes"),
    ("init_barrier %empty, 2", "init_barrier %empty, 1", "2 arrivals at a barrier whose phase needs only 1 more"),
    ("ttng.init_barrier %full, 1 : !ttg.memdesc<1xi64, #s, #smem, mutable>\n", "", "the barrier was not initialised"),
    (_INIT, "ttng.init_barrier %full, 2000000", "a barrier counts at most 1048575 arrivals, not 2000000"),
    (
        _INIT + " : !ttg.memdesc<1xi64, #s, #smem, mutable>\n", _INIT.replace("1", "2 : !ttg.memdesc<1xi64, #s, #smem, mutable>\n") + _EXPECT.format(4),
        "phase 0 of the barrier %full (0 of 2 arrivals and 4 bytes are missing)",
    ),
    ("%sum = ttg", _EXPECT.format(4) + "%sum = ttg", "1 arrivals at a barrier whose phase needs only 0 more"),
    ("%sum = ttg", _EXPECT.format(1 << 20) + "%sum = ttg", "counts at most 1048575 bytes, not 1048576"),
    (
        "%r = tt.make", "ttng.wait_barrier %empty, %0 : !ttg.memdesc<1xi64, #s, #smem, mutable>\n%r = tt.make",
        "the program, which has only one part here, waits",
    ),
)  # fmt: skip


def test_partitions_take_turns() -> None:
    for count in (0, 1, 4, 5):
        y = hu.Buffer.from_numpy(np.ones(128, np.float32))
        hu.run(PARTS, y, count, grid=1)
        assert (np.asarray(y.load()) == count * (count + 1) / 2).all()
    traced = hu.trace(PARTS, hu.Buffer.from_numpy(np.ones(128, np.float32)), 3, grid=1, shadow=True)
    assert traced.errors is not None
    assert next(iter(traced.errors.lines())).endswith("argument[0]: tensor<128xf32>: exact")


@each_row(*WAITING)
def test_parts_that_wait_for_each_other_are_a_deadlock(old: str, new: str, message: str) -> None:
    assert PARTS.count(old) == 1
    with pytest.raises(hu.UndefinedBehavior, match=re.escape(message)) as found:
        hu.run(PARTS.replace(old, new), np.zeros(128, np.float32), 4, grid=1)
    assert found.value.location is not None


REDUCED = """
#l = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#r = #ttg.slice<{dim = 1, parent = #l}>
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:103", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {
    %rows = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #r>
    %columns = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #l}>>
    %a = tt.expand_dims %rows {axis = 1 : i32} : tensor<128xi32, #r> -> tensor<128x1xi32, #l>
    %b = tt.expand_dims %columns {axis = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #l}>> -> tensor<1x32xi32, #l>
    %n = arith.constant dense<32> : tensor<128x1xi32, #l>
    %a32 = arith.muli %a, %n : tensor<128x1xi32, #l>
    %wide = tt.broadcast %a32 : tensor<128x1xi32, #l> -> tensor<128x32xi32, #l>
    %high = tt.broadcast %b : tensor<1x32xi32, #l> -> tensor<128x32xi32, #l>
    %at = arith.addi %wide, %high : tensor<128x32xi32, #l>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x32x!tt.ptr<f32>, #l>
    %from = tt.addptr %s, %at : tensor<128x32x!tt.ptr<f32>, #l>, tensor<128x32xi32, #l>
    %x = tt.load %from : tensor<128x32x!tt.ptr<f32>, #l>
    %m, %t = ttng.tmem_alloc %x : (tensor<128x32xf32, #l>) -> (!ttg.memdesc<128x32xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %y, %u, %red = ttng.tmem_load %m[%t] {MODE} : !ttg.memdesc<128x32xf32, #tmem, #ttng.tensor_memory, mutable> -> tensor<128x32xf32, #l>, tensor<128xf32, #r>
    tt.store %from, %y : tensor<128x32x!tt.ptr<f32>, #l>
    %o = tt.splat %q : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #r>
    %to = tt.addptr %o, %rows : tensor<128x!tt.ptr<f32>, #r>, tensor<128xi32, #r>
    tt.store %to, %red : tensor<128x!tt.ptr<f32>, #r>
    tt.return
  }
}
"""


@each_row(*product(("min", "max"), (False, True), (False, True)))
def test_loads_of_tensor_memory_that_reduce(kind: str, magnitudes: bool, nan: bool) -> None:
    x = np.random.default_rng(4).standard_normal((128, 32)).astype(np.float32)
    x[1, 5], x[2, 31], x[3, 0], x[4] = np.nan, np.inf, -np.inf, np.nan
    y, before = np.zeros(128, np.float32), x.copy()
    options = [f"redOp = #ttng.redOp<{kind}>", *["abs = true"] * magnitudes, *["NaN = true"] * nan]
    hu.run(REDUCED.replace("MODE", ", ".join(options)), x, y, grid=1)
    combine = {("min", False): np.fmin, ("max", False): np.fmax, ("min", True): np.minimum, ("max", True): np.maximum}
    expected = combine[kind, nan].reduce(np.abs(x) if magnitudes else x, axis=1)
    with pytest.raises(hu.Unsupported, match=r"cuda:100 has no instruction that loads and reduces"):
        hu.run(REDUCED.replace("MODE", ", ".join(options)).replace("cuda:103", "cuda:100"), x, y, grid=1)
    assert np.array_equal(x, before, equal_nan=True)
    assert np.array_equal(y, expected, equal_nan=True)


TWO_BLOCKS = """
#a = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16, CGALayout = [[1, 0]]}>
#b = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16, CGALayout = [[0, 1]]}>
#c = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32, CGALayout = [[1, 0]]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = [[1]]}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1, CGALayout = [[1, 0]], twoCTAs = true>
#l = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = [[128, 0]]}>
module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32, "ttng.two-ctas" = true} {
  tt.func public @f(%p: !tt.tensordesc<256x64xf16, #a>, %q: !tt.tensordesc<128x64xf16, #a>, %o: !tt.tensordesc<256x128xf32, #c>) {
    %true = arith.constant true
    %false = arith.constant false
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    %bar = ttg.local_alloc : () -> MEM<2xi64, #s, #smem, mutable>
    ttng.init_barrier %bar, 1 : MEM<2xi64, #s, #smem, mutable>
    %x = ttg.local_alloc : () -> MEM<256x64xf16, #a, #smem, mutable>
    %y = ttg.local_alloc : () -> MEM<128x64xf16, #a, #smem, mutable>
    %z = ttg.memdesc_trans %y {order = array<i32: 1, 0>} : MEM<128x64xf16, #a, #smem, mutable> -> MEM<64x128xf16, #b, #smem, mutable>
    %d = ttng.tmem_alloc : () -> MEM<256x128xf32, #tmem, #ttng.tensor_memory, mutable>
    ttng.barrier_expect %bar, 24576, %true : MEM<2xi64, #s, #smem, mutable>
    ttng.async_tma_copy_global_to_local %p[%0, %0] %x, %bar, %true : !tt.tensordesc<256x64xf16, #a>, MEM<2xi64, #s, #smem, mutable> -> MEM<256x64xf16, #a, #smem, mutable>
    ttng.async_tma_copy_global_to_local %q[%0, %0] %y, %bar, %true : !tt.tensordesc<128x64xf16, #a>, MEM<2xi64, #s, #smem, mutable> -> MEM<128x64xf16, #a, #smem, mutable>
    ttng.wait_barrier %bar, %0 : MEM<2xi64, #s, #smem, mutable>
    ttng.tc_gen5_mma %x, %z, %d, %false, %true, %bar[%true] {is_async, two_ctas} : MEM<256x64xf16, #a, #smem, mutable>, MEM<64x128xf16, #b, #smem, mutable>, MEM<256x128xf32, #tmem, #ttng.tensor_memory, mutable>, MEM<2xi64, #s, #smem, mutable>
    ttng.wait_barrier %bar, %1 : MEM<2xi64, #s, #smem, mutable>
    %r = ttng.tmem_load %d : MEM<256x128xf32, #tmem, #ttng.tensor_memory, mutable> -> tensor<256x128xf32, #l>
    %out = ttg.local_alloc %r : (tensor<256x128xf32, #l>) -> MEM<256x128xf32, #c, #smem, mutable>
    ttng.async_tma_copy_local_to_global %o[%0, %0] %out : !tt.tensordesc<256x128xf32, #c>, MEM<256x128xf32, #c, #smem, mutable>
    PARTS
    tt.return
  }
}
""".replace("MEM", "!ttg.memdesc")


def test_two_blocks_multiply_together() -> None:
    """Two blocks of a cluster compute 256 rows; each block has its barrier, and half of the bytes of each copy."""
    a = np.random.default_rng(5).integers(-8, 9, (256, 64)).astype(np.float16)
    b = np.random.default_rng(6).integers(-8, 9, (128, 64)).astype(np.float16)
    for parts in ("", "ttg.warp_specialize()\n default {\n ttg.warp_yield\n } : () -> ()"):  # without and with counts
        c = np.zeros((256, 128), np.float32)
        hu.run(TWO_BLOCKS.replace("PARTS", parts), a, b, c, grid=1)
        assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
    out = hu.Buffer.from_numpy(np.zeros((256, 128), np.float32))
    hu.run(TWO_BLOCKS.replace("PARTS", ""), a, b, out, grid=1, track_open=True)
    assert np.asarray(out.load().open).all()  # that two blocks add like one is not published


PRINTS = """
tt.func @f(%x: f32, %n: i32) {
  %h = arith.truncf %x : f32 to bf16
  %t = tt.splat %n : i32 -> tensor<16xi32>
  tt.print " here" {hex = false, isSigned = array<i32>}
  tt.print " x: " {hex = false, isSigned = array<i32: 0, 1, 0>} : %x, %n, %n : f32, i32, i32
  tt.print " a: " {hex = true, isSigned = array<i32: 0, 0>} : %h, %n : bf16, i32
  tt.print " t: " {hex = false, isSigned = array<i32: 1>} : %t : tensor<16xi32>
  tt.return
}"""


def test_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The texts are those of `PrintOpToLLVM.cpp`, by ``%f``, ``%i``, ``%u``, ``%a`` and ``%08x`` of C."""
    hu.run(PRINTS, -1.5, -2, grid=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:6] == [
        "pid (0, 0, 0) here",
        "pid (0, 0, 0) idx () x: (operand 0) -1.500000",
        "pid (0, 0, 0) idx () x: (operand 1) -2",
        "pid (0, 0, 0) idx () x: (operand 2) 4294967294",
        "pid (0, 0, 0) idx () a: (operand 0) -0x1.8p+0",
        "pid (0, 0, 0) idx () a: (operand 1) 0xfffffffe",
    ]
    assert lines[6::9] == ["pid (0, 0, 0) idx ( 0) t: -2", "pid (0, 0, 0) idx ( 9) t: -2"]


MAPPED = """%y, %n = "tt.map_elementwise"(%x, %0) <{pack = 2 : i32}> ({
^bb0(%a: f32, %b: f32, %i: i32, %j: i32):
  %c = arith.cmpi eq, %i, %j : i32
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  tt.map_elementwise.return %a, %a, %i, %i : f32, f32, i32, i32
^bb2:
  tt.map_elementwise.return %b, %a, %j, %i : f32, f32, i32, i32
}) : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)"""


def test_a_function_of_two_elements_at_once() -> None:
    assert results(MAPPED) == X.reshape(4, 2)[:, ::-1].reshape(-1).tolist()


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.ttir"
    path.write_text(PROGRAM.format("%y = arith.addf %x, %x : tensor<8xf32>", 8))
    inputs = ["--input=8xf32=1 2 3 4 -5 6 7 8", "--input=2x4xf32=0"]
    assert main(["run", str(path), "--grid=1", *inputs]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "argument[1]: 2x4xf32=[2 4 6 8][-10 12 14 16]"
    assert main(["run", str(path), "--grid=0,1", *inputs]) == 2


TOGETHER = """
tt.func @f(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32) {
  %x = tt.get_program_id x : i32
  %c8 = arith.constant 8 : i32
  %begin = arith.muli %x, %c8 : i32
  %0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %b = tt.splat %begin : i32 -> tensor<8xi32>
  %i = arith.addi %b, %0 : tensor<8xi32>
  %s = tt.splat %n : i32 -> tensor<8xi32>
  %m = arith.cmpi slt, %i, %s : tensor<8xi32>
  %1 = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %2 = tt.addptr %1, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %3 = tt.load %2, %m : tensor<8x!tt.ptr<f32>>
  %t = "tt.reduce"(%3) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %e: f32):
    %u = arith.addf %a, %e : f32
    tt.reduce.return %u : f32
  }) : (tensor<8xf32>) -> f32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %l = scf.for %k = %c0 to %x step %c1 iter_args(%v = %3) -> (tensor<8xf32>) : i32 {
    %w = arith.addf %v, %3 : tensor<8xf32>
    scf.yield %w : tensor<8xf32>
  }
  %y = tt.splat %q : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  {}
  tt.return
}
"""
OWN = "%z = tt.addptr %y, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>\n"
STORED: Sequence[tuple[str, bool, bool]] = (
    # What is stored, whether in the memory that is read, and whether the programs run together.
    (OWN + "tt.store %z, %l, %m : tensor<8x!tt.ptr<f32>>", False, True),
    (OWN + "tt.store %z, %l, %m : tensor<8x!tt.ptr<f32>>", True, True),
    (OWN + "tt.store %z, %l : tensor<8x!tt.ptr<f32>>", False, True),
    # Into the elements of the next program, which reads them later.
    ("%z = tt.addptr %1, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>\n%o = arith.constant dense<8> : tensor<8xi32>\n"
     "%zz = tt.addptr %z, %o : tensor<8x!tt.ptr<f32>>, tensor<8xi32>\ntt.store %zz, %l, %m : tensor<8x!tt.ptr<f32>>", True, False),
    # All into the same elements: the same bits, then a race.
    ("%z = tt.addptr %y, %0 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>\n%o = arith.constant dense<1.0> : tensor<8xf32>\n"
     "tt.store %z, %o : tensor<8x!tt.ptr<f32>>", False, False),
    ("%z = tt.addptr %y, %0 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>\ntt.store %z, %l, %m : tensor<8x!tt.ptr<f32>>", False, False),
    # As many programs as elements that all of them read, of which each one writes one.
    ("%h = tt.splat %q : !tt.ptr<f32> -> tensor<2x!tt.ptr<f32>>\n%j = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>\n"
     "%hh = tt.addptr %h, %j : tensor<2x!tt.ptr<f32>>, tensor<2xi32>\n%old = tt.load %hh : tensor<2x!tt.ptr<f32>>\n"
     "%sum = \"tt.reduce\"(%old) <{axis = 0 : i32}> ({\n^bb0(%a: f32, %e: f32):\n%u = arith.addf %a, %e : f32\n"
     "tt.reduce.return %u : f32\n}) : (tensor<2xf32>) -> f32\n%one = arith.constant 1.0 : f32\n%new = arith.addf %sum, %one : f32\n"
     "%c40 = arith.constant 40 : i32\n%c42 = arith.constant 42 : i32\n%o = arith.addi %x, %c40 : i32\n%to = arith.remsi %o, %c42 : i32\n"
     "%z = tt.addptr %q, %to : !tt.ptr<f32>, i32\ntt.store %z, %new : !tt.ptr<f32>", False, False),
    # One sum of each program, also of poison.
    ("%z = tt.addptr %q, %x : !tt.ptr<f32>, i32\ntt.store %z, %t : !tt.ptr<f32>", False, True),
)  # fmt: skip


def test_programs_run_together_as_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[bool] = []
    together = launching._Launch._together

    def noted(self: Any, first: int, group: Any) -> bool:
        groups.append(together(self, first, group))
        return groups[-1]

    monkeypatch.setattr(launching._Launch, "_together", noted)

    def run(body: str, inside: bool, at_once: int, size: int) -> tuple[str, str, str]:
        monkeypatch.setattr(launching, "programs_at_once", lambda kernel, settings: at_once)
        x = hu.Buffer.from_numpy(np.arange(48, dtype=np.float32) / 3)
        y = x if inside else hu.Buffer.from_numpy(np.zeros(48, np.float32))
        try:
            hu.run(TOGETHER.replace("{}", body), x, y, size, grid=5)
        except hu.UndefinedBehavior as error:
            return str(error), repr(x.load()), repr(y.load())
        return "", repr(x.load()), repr(y.load())

    for body, inside, runs in STORED:
        assert run(body, inside, 2, 27) == run(body, inside, 1, 27)
        alone = run(body, inside, 1, 40)
        groups.clear()
        assert run(body, inside, 2, 40) == alone
        assert any(groups) == runs
