"""The functions of mlir-runner's libraries: they print what mlir-runner 22 prints, with a constant for each address."""

import ctypes
import random
import re
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import amounts
from tables import each_row

import halfulp as hu
from halfulp.conformance.oracles.apfloat import LLVM_FOLDER, WRAPPERS
from halfulp.conformance.oracles.jit import library
from halfulp.conformance.oracles.tool import find_tool
from halfulp.interp.dialects.func.apfloat import FUNCTIONS, SEMANTICS
from halfulp.interp.dialects.func.runner import ADDRESS
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import External, Listener, Settings
from halfulp.interp.values.buffers import Buffer

DATA = Path(__file__).parents[3] / "data"
PROGRAM = (DATA / "print_memref.mlir").read_text(encoding="utf-8")
# As bytes: printMemrefI8 prints each byte as it is.
RECORDED = (DATA / "print_memref.txt").read_bytes()
PIPELINE = (
    "builtin.module(func.func(convert-vector-to-scf),convert-scf-to-cf,convert-vector-to-llvm,expand-strided-metadata,"
    "finalize-memref-to-llvm,convert-func-to-llvm,convert-to-llvm,reconcile-unrealized-casts)"
)
LIBRARIES = ("libmlir_c_runner_utils.so", "libmlir_runner_utils.so")


class Printed(Listener):
    """The events of printing."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, tuple[Any, ...]]] = []

    def printed(self, op: Operation, text: str, values: Sequence[Any]) -> None:
        self.events.append((op.name, text, tuple(values)))


def output_of(text: str, *arguments: Any, listeners: tuple[Listener, ...] = (), entry: str = "main") -> str:
    """Run a function, and return what it prints."""
    module = hu.load(text)
    parts: list[str] = []
    function = module.lookup(entry)
    assert function is not None
    program_for(module, Settings(write=parts.append, listeners=listeners)).run(function, arguments)
    return "".join(parts)


def by_mlir_runner(text: str) -> bytes:
    """Return what mlir-runner prints, with our constant in place of addresses."""
    optimizer = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22")
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
    lowered = optimizer.run([f"--pass-pipeline={PIPELINE}"], text)
    libraries = ",".join(library(runner, name) for name in LIBRARIES)
    command = [runner.path, "-e", "main", "--entry-point-result=void", f"--shared-libs={libraries}"]
    done = subprocess.run(command, input=lowered.encode(), capture_output=True, check=True, timeout=60)
    return re.sub(rb"base@ = 0x[0-9a-f]+", f"base@ = {ADDRESS}".encode(), done.stdout)


def test_everything_prints_as_recorded() -> None:
    assert output_of(PROGRAM).encode("utf-8", "surrogateescape") == RECORDED
    assert RECORDED.count(b"Memref base@ = 0x1000 rank = ") == 17


def test_time_stands_still() -> None:
    program = (
        "func.func private @rtclock() -> f64\nfunc.func private @nanoTime() -> i64\n"
        "func.func @main() -> (f64, i64) {\n  %a = call @rtclock() : () -> f64\n  %b = call @nanoTime() : () -> i64\n"
        "  return %a, %b : f64, i64\n}"
    )
    assert [value.numpy() for value in hu.run(program)] == [0.0, 0]


@pytest.mark.mlir
def test_mlir_runner_prints_what_is_recorded() -> None:
    assert by_mlir_runner(PROGRAM) == RECORDED


@pytest.mark.mlir
def test_the_lowered_program_prints_the_same() -> None:
    lowered = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22").run([f"--pass-pipeline={PIPELINE}"], PROGRAM)
    assert "llvm.call @_mlir_ciface_printMemref0dF32(" in lowered
    assert output_of(lowered).encode("utf-8", "surrogateescape") == RECORDED


def test_a_tensor_is_printed_as_the_memref_that_it_becomes() -> None:
    program = (
        "func.func private @printMemrefF32(tensor<*xf32>)\n"
        "func.func @main(%t: tensor<2x2xf32>) {\n  %u = tensor.cast %t : tensor<2x2xf32> to tensor<*xf32>\n"
        "  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()\n  return\n}"
    )
    printed = output_of(program, hu.Value.from_numpy(np.array([[1, 2.5], [-3, 1e10]], np.float32)))
    head = "Unranked Memref base@ = 0x1000 rank = 2 offset = 0 sizes = [2, 2] strides = [2, 1] data = \n"
    assert printed == f"{head}[[1,   2.5], \n [-3,   1e+10]]\n"


MEMREF = """\
func.func private @printMemrefI32(memref<*xi32>) attributes {{llvm.emit_c_interface}}
func.func @main(%m: memref<{type}>) {{
  %u = memref.cast %m : memref<{type}> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  return
}}
"""
NEW = """\
func.func private @printMemrefI32(memref<*xi32>) attributes {{llvm.emit_c_interface}}
func.func @main() {{
  %a = memref.alloc() : memref<2xi32>
  %c0 = arith.constant 0 : index
  %x = arith.constant 7 : i32
  memref.store %x, %a[%c0] : memref<2xi32>
  %u = memref.cast %a : memref<2xi32> to memref<*xi32>
  {}
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  return
}}
"""


def test_listeners_get_the_contents() -> None:
    listener = Printed()
    text = output_of(MEMREF.format(type="2xi32"), Buffer.from_numpy(np.array([7, -1], np.int32)), listeners=(listener,))
    ((op, told, (value,)),) = listener.events
    assert (op, told) == ("func.call", text)
    assert value == hu.Value.from_numpy(np.array([7, -1], np.int32))
    listener = Printed()
    output_of(
        "func.func private @printNewline()\nfunc.func @main() {\n  call @printNewline() : () -> ()\n  return\n}",
        listeners=(listener,),
    )
    assert listener.events == [("func.call", "\n", ())]


def test_poison_is_named() -> None:
    assert output_of(NEW.format("")).endswith(" data = \n[7,  poison]\n")


def test_a_memref_without_elements_is_undefined() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="reads the first element of a memref without elements") as raised:
        output_of(MEMREF.format(type="0xi32"), Buffer.from_numpy(np.zeros(0, np.int32)))
    assert raised.value.location is not None


def test_freed_memory_is_undefined() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="freed"):
        output_of(NEW.format("memref.dealloc %a : memref<2xi32>"))


@each_row("memref<*xi32>", "memref<2xf32>", "f32", "", "memref<*xf32>, memref<*xf32>", "tensor<2xf32>")
def test_a_declaration_of_other_types_is_refused(signature: str) -> None:
    types = signature.split(", ") if signature else []
    arguments = ", ".join(f"%x{k}: {type_}" for k, type_ in enumerate(types))
    names = ", ".join(f"%x{k}" for k in range(len(types)))
    program = (
        f"func.func private @printMemrefF32({signature})\nfunc.func @main({arguments}) {{\n"
        f"  call @printMemrefF32({names}) : ({signature}) -> ()\n  return\n}}"
    )
    module = hu.load(program)
    function = module.lookup("main")
    assert function is not None
    with pytest.raises(hu.Unsupported, match="'@printMemrefF32' of mlir-runner's library does not take"):
        program_for(module, Settings()).function(function)


def test_a_function_of_the_user_comes_first() -> None:
    program = (
        "func.func private @printI64(i64)\nfunc.func @main(%x: i64) {\n  call @printI64(%x) : (i64) -> ()\n  return\n}"
    )
    given: list[int] = []
    own: dict[str, External] = {"printI64": lambda value: given.append(int(value.item()))}
    hu.run(program, 5, externals=own)
    assert given == [5]


def test_an_unknown_function_is_refused_as_before() -> None:
    program = (
        "func.func private @printI65(i64)\nfunc.func @main(%x: i64) {\n  call @printI65(%x) : (i64) -> ()\n  return\n}"
    )
    with pytest.raises(hu.Unsupported, match="'@printI65' is a declaration without a body"):
        hu.run(program, 5)


def test_lanes_print_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    program = (
        "func.func private @printI64(i64)\nfunc.func private @printNewline()\nfunc.func @main(%x: i64) {\n"
        "  call @printI64(%x) : (i64) -> ()\n  return\n}"
    )
    hu.run(program, np.arange(3), batch=True)
    assert capsys.readouterr().out == "012"


VERIFY = """\
func.func private @verifyMemRef{suffix}(memref<*x{type}>, memref<*x{type}>) -> i64 attributes {{llvm.emit_c_interface}}
func.func @main(%a: memref<?x{type}>, %b: memref<?x{type}>) -> i64 {{
  %c = memref.cast %a : memref<?x{type}> to memref<*x{type}>
  %d = memref.cast %b : memref<?x{type}> to memref<*x{type}>
  %0 = call @verifyMemRef{suffix}(%c, %d) : (memref<*x{type}>, memref<*x{type}>) -> i64
  return %0 : i64
}}
"""


@each_row(
    ("I32", "i32", [1, 2, 3], [1, 2, 3], 0),
    ("I32", "i32", [1, 2, 3], [1, 0, 4], 2),
    ("I32", "i32", [1, 2], [1, 2, 3], -1),
    ("F32", "f32", [1, 1 + 9e-7, 1 + 1.2e-6], [1, 1, 1], 1),
    ("F32", "f32", [np.nan, np.inf, -0.0], [np.nan, np.inf, 0.0], 2),
    # Of f16 the bits count: a NaN equals itself, and zeros of two signs differ.
    ("F16", "f16", [np.nan, np.inf, -0.0, 1], [np.nan, np.inf, 0.0, 1], 1),
    ("F64", "f64", [1, 1 + 9e-13, 1 + 1.2e-12], [1, 1, 1], 1),
)
def test_verifying_counts_differences(
    suffix: str, type_: str, actual: list[float], expected: list[float], errors: int
) -> None:
    """The tolerances are those of 156 pairs that mlir-runner 22 was asked about: 1e-6 for f32, relative."""
    dtype = np.dtype(type_.replace("i", "int").replace("f", "float"))
    (found,) = hu.run(VERIFY.format(suffix=suffix, type=type_), np.array(actual, dtype), np.array(expected, dtype))
    assert found.item() == errors


COMPLEX = """\
func.func private @printMemrefC{width}(tensor<*xcomplex<f{width}>>)
func.func private @verifyMemRefC{width}(tensor<*xcomplex<f{width}>>, tensor<*xcomplex<f{width}>>) -> i64
func.func @main() -> i64 {{
  %a = arith.constant dense<[(1.0, 2.0), (-2.5, 1.0e10), (0.0, {nan})]> : tensor<3xcomplex<f{width}>>
  %b = arith.constant dense<[(1.0, 2.0), (-2.5, 1.1e10), (-0.0, {nan})]> : tensor<3xcomplex<f{width}>>
  %c = tensor.cast %a : tensor<3xcomplex<f{width}>> to tensor<*xcomplex<f{width}>>
  %d = tensor.cast %b : tensor<3xcomplex<f{width}>> to tensor<*xcomplex<f{width}>>
  call @printMemrefC{width}(%c) : (tensor<*xcomplex<f{width}>>) -> ()
  %0 = call @verifyMemRefC{width}(%c, %d) : (tensor<*xcomplex<f{width}>>, tensor<*xcomplex<f{width}>>) -> i64
  return %0 : i64
}}
"""


@pytest.mark.parametrize(("width", "nan"), [(32, "0xFFC00000"), (64, "0xFFF8000000000000")])
def test_complex_numbers(width: int, nan: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Complex numbers are compared without a tolerance; a NaN differs from itself."""
    (found,) = hu.run(COMPLEX.format(width=width, nan=nan))
    assert found.item() == 2
    assert capsys.readouterr().out.endswith(" data = \n[(1,2),  (-2.5,1e+10),  (0,-nan)]\n")


# --- libm -------------------------------------------------------------------------------------------------------------
#
# Functions of C's mathematical library that programs call. The expected bits are correctly rounded values.

UNARY = [
    "absf", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc", "exp",
    "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "round", "roundeven", "rsqrt", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
]  # fmt: skip


def _program(name: str, type_: str, operands: int = 1, dialect: str = "func") -> str:
    types = ", ".join([type_] * operands)
    passed = ", ".join(["%x"] * operands)
    return (
        f"{dialect}.func @{name}({types}) -> {type_}\n".replace("func.func", "func.func private")
        + f"func.func @main(%x: {type_}) -> {type_} {{\n"
        f"  %r = {dialect}.call @{name}({passed}) : ({types}) -> {type_}\n  return %r : {type_}\n}}"
    )


@pytest.mark.parametrize("dialect", ["func", "llvm"])
@pytest.mark.parametrize(
    ("name", "type_", "operands", "x", "expected"),
    [
        ("expf", "f32", 1, 1.0, "402df854"),  # e = 2.7182818284590452...
        ("exp", "f64", 1, 1.0, "4005bf0a8b145769"),
        ("log2f", "f32", 1, 8.0, "40400000"),
        ("fabsf", "f32", 1, -2.5, "40200000"),
        ("powf", "f32", 2, 3.0, "41d80000"),
        ("fma", "f64", 3, 3.0, "4028000000000000"),
        ("roundf", "f32", 1, 2.5, "40400000"),
        ("roundevenf", "f32", 1, 2.5, "40000000"),
    ],
)
def test_known_answers(dialect: str, name: str, type_: str, operands: int, x: float, expected: str) -> None:
    (result,) = hu.run(_program(name, type_, operands, dialect), x)
    assert f"{int(result.bits):0{len(expected)}x}" == expected


@pytest.mark.parametrize(("type_", "suffix"), [("f32", "f"), ("f64", "")])
def test_names_are_those_that_mlir_opt_writes(type_: str, suffix: str, mlir_opt: Any) -> None:
    """The text after the pass runs, and gives the bits of the ops that it had before."""
    ops = [(name, "%x") for name in UNARY] + [("atan2", "%x, %x"), ("powf", "%x, %x"), ("fma", "%x, %x, %x")]
    lines = [f"  %{k} = math.{name} {operands} : {type_}" for k, (name, operands) in enumerate(ops)]
    names = ", ".join(f"%{k}" for k in range(len(ops)))
    types = ", ".join([type_] * len(ops))
    body = "\n".join(lines)
    text = f"func.func @main(%x: {type_}) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}"
    lowered = mlir_opt(text, "--convert-math-to-libm")
    assert "math." not in lowered
    assert lowered.count(" private @") == len(ops)
    assert hu.run(lowered, 0.75, function="main") == hu.run(text, 0.75)


def test_a_batch_and_poison() -> None:
    (result,) = hu.run(_program("sqrtf", "f32"), np.array([1, 4, 9], np.float32), batch=True)
    assert result.tolist() == [1, 2, 3]
    program = _program("sqrtf", "f32").replace("  %r", "  %p = ub.poison : f32\n  %r").replace("(%x) :", "(%p) :")
    assert hu.run(program, 1.0)[0].poisoned


def test_the_user_s_function_comes_first() -> None:
    bound = {"sqrtf": lambda value: np.float32(5)}
    (result,) = hu.run(_program("sqrtf", "f32"), 4.0, externals=bound)
    assert struct.pack("<I", int(result.bits)) == struct.pack("<f", 5.0)


@pytest.mark.parametrize(("name", "type_"), [("exp", "f32"), ("expf", "f64"), ("expf", "f16"), ("frobf", "f32")])
def test_other_types_and_names_are_unknown(name: str, type_: str) -> None:
    with pytest.raises(hu.Unsupported, match="declaration without a body"):
        hu.run(_program(name, type_), 1.0)


# --- apfloat ----------------------------------------------------------------------------------------------------------
#
# The functions of MLIR's APFloat run-time library: what they return, beside the library itself.

FORMATS = [name for name in SEMANTICS if ty.width_of(ty.F(name)) <= 64]
MOST = 16
"""Most bits of all operands of which all combinations are compared."""
NATIVE = {1: ctypes.c_bool, 8: ctypes.c_uint8, 32: ctypes.c_int32, 64: ctypes.c_uint64}
F8, F16, F32 = SEMANTICS["f8E4M3FN"], SEMANTICS["f16"], SEMANTICS["f32"]


def returned(name: str, selectors: Sequence[int], *columns: Any) -> list[int]:
    """Return what a function returns for columns of codes, as a program calls it."""
    function = FUNCTIONS[name]
    constants = [
        f"arith.constant {value} : {type_}" for value, type_ in zip(selectors, function.selectors, strict=True)
    ]
    constants = [text.replace("0 : i1", "false").replace("1 : i1", "true") for text in constants]
    types = ", ".join([*map(str, function.selectors), *["i64"] * function.arity])
    names = [*(f"%s{k}" for k in range(len(constants))), *(f"%a{k}" for k in range(function.arity))]
    program = f"func.func private @{name}({types}) -> {function.result}\n"
    program += (
        f"func.func @f({', '.join(f'{each}: i64' for each in names[len(constants) :])}) -> {function.result} {{\n"
    )
    program += "".join(f"  {each} = {text}\n" for each, text in zip(names, constants, strict=False))
    program += f"  %r = call @{name}({', '.join(names)}) : ({types}) -> {function.result}\n"
    program += f"  return %r : {function.result}\n}}\n"
    (result,) = hu.run(program, *(np.array(column, np.uint64) for column in columns), function="f", batch=True)
    assert result.poison is None
    return [int(code) for code in result.bits]


@each_row(
    ("add", (F8,), (0x38, 0x38), 0x40),  # 1 + 1
    ("convert", (F32, F8), (0x43E80001,), 0x7F),  # above 464: a NaN
    ("convert_to_int", (F32, 8, 0), (0x40600000,), 4),  # 3.5: to nearest even
    ("convert_to_int", (F32, 8, 0), (0xC3960000,), 0x80),  # -300: the smallest integer
    ("convert_to_int", (F32, 8, 1), (0xBF800000,), 0),
    ("convert_from_int", (F8, 8, 0), (0xFFFFFFFFFFFFFFFE,), 0xC0),  # -2
    ("remainder", (F32,), (0x40E00000, 0x40800000), 0xBF800000),  # 7 and 4: -1, as IEEE 754 has it
    ("compare", (F16,), (0x3C00, 0x4000), 0),
    ("compare", (F16,), (0x0000, 0x8000), 1),
    ("compare", (F16,), (0x4000, 0x3C00), 2),
    ("compare", (F16,), (0x7E00, 0x3C00), 3),
    ("isnormal", (F16,), (0x0001,), 0),
    ("fused_multiply_add", (F16,), (0x3C01, 0x3BFE, 0xBC00), 0x8010),
)
def test_results(name: str, selectors: tuple[int, ...], codes: tuple[int, ...], result: int) -> None:
    """By hand, from what the library is known to do."""
    assert returned(f"_mlir_apfloat_{name}", selectors, *[[code] for code in codes]) == [result]


def cases(formats: Sequence[str]) -> Iterator[tuple[str, tuple[int, ...], list[list[int]]]]:
    """Yield the functions with formats, widths and signs, and all operands of the small formats, or many of others."""
    rng = random.Random(7)
    for name, function in FUNCTIONS.items():
        for each in formats:
            number, width = SEMANTICS[each], ty.width_of(ty.F(each))
            choices: list[tuple[int, ...]] = [(number,)]
            if name.endswith("_convert"):
                others = (other for other in FORMATS if other == each or ty.width_of(ty.F(other)) != width)
                choices = [(number, SEMANTICS[other]) for other in others]
            elif len(function.selectors) == 3:
                choices = [(number, integer, sign) for integer in (1, 4, 8, 16, 32, 64) for sign in (0, 1)]
            for selectors in choices:
                if name.endswith("from_int"):
                    bits = selectors[1]
                    values = [rng.getrandbits(bits) for _ in range(300)]
                    if not selectors[2]:
                        values = [(value - (value >> (bits - 1) << bits)) & ((1 << 64) - 1) for value in values]
                    yield name, selectors, [values]
                elif width * function.arity <= MOST:
                    every = np.meshgrid(*[np.arange(1 << width)] * function.arity, indexing="ij")
                    yield name, selectors, [column.reshape(-1).tolist() for column in every]
                else:
                    yield (
                        name,
                        selectors,
                        [[rng.getrandbits(width) for _ in range(2000)] for _ in range(function.arity)],
                    )


@pytest.mark.mlir
@pytest.mark.parametrize("formats", amounts(["f4E2M1FN", "f6E2M3FN", "f16"], FORMATS), ids=len)
def test_the_library_returns_the_same(formats: list[str]) -> None:
    library = ctypes.CDLL(f"{LLVM_FOLDER}/{WRAPPERS}")
    compared = 0
    for name, selectors, columns in cases(formats):
        function, native = FUNCTIONS[name], getattr(library, name)
        native.restype = NATIVE[ty.width_of(function.result)]
        native.argtypes = [NATIVE[ty.width_of(type_)] for type_ in function.selectors] + [
            ctypes.c_uint64
        ] * function.arity
        expected = [int(native(*selectors, *row)) for row in zip(*columns, strict=True)]
        found = returned(name, selectors, *columns)
        wrong = [row for row in zip(*columns, expected, found, strict=True) if row[-1] != row[-2]]
        assert not wrong, (name, selectors, len(wrong), [list(map(hex, row)) for row in wrong[:3]])
        compared += len(expected)
    assert compared > 50_000


def called(types: str, operands: str, name: str, result: str = "i64") -> str:
    return (
        f"func.func private @{name}({types}) -> {result}\nfunc.func @f(%n: i32, %a: i64) -> {result} {{\n"
        f"  %r = call @{name}({operands}) : ({types}) -> {result}\n  return %r : {result}\n}}"
    )


def test_numbers_of_no_format_and_wide_formats() -> None:
    negate = called("i32, i64", "%n, %a", "_mlir_apfloat_neg")
    with pytest.raises(hu.UndefinedBehavior, match="APFloat has no format of number 77"):
        hu.run(negate, 77, 1)
    with pytest.raises(hu.Unsupported, match=r"<string>:3:8: error: .* at most 64 bits, not those of f80"):
        hu.run(negate, SEMANTICS["f80"], 1)
    poison = negate.replace("  %r", "  %p = ub.poison : i32\n  %r").replace("(%n, %a)", "(%p, %a)")
    with pytest.raises(hu.UndefinedBehavior, match="the number of a format, a width or a sign is poison"):
        hu.run(poison, 1, 1)


def test_a_declaration_of_another_type_is_not_the_function() -> None:
    with pytest.raises(hu.Unsupported, match="is a declaration without a body"):
        hu.run(called("i32, i64", "%n, %a", "_mlir_apfloat_add"), 10, 1)


def test_poison_operands_give_poison() -> None:
    program = """func.func private @_mlir_apfloat_add(i32, i64, i64) -> i64
func.func @f(%a: i64, %b: i64) -> i64 {
  %n = arith.constant 2 : i32
  %p = arith.shli %a, %b : i64
  %r = call @_mlir_apfloat_add(%n, %p, %a) : (i32, i64, i64) -> i64
  return %r : i64
}"""
    (result,) = hu.run(program, 1, 64)
    assert result.poisoned.all()
    assert "arith.shli" in str(result.origin())


def test_printing() -> None:
    program = """func.func private @printApFloat(i32, i64)
func.func @f(%n: i32, %a: i64) {
  call @printApFloat(%n, %a) : (i32, i64) -> ()
  return
}"""
    module, parts = hu.parse(program), list[str]()
    function = module.lookup("f")
    assert function is not None
    ran = program_for(module, Settings(write=parts.append))
    for number, code in ((F8, 0x7F), (F8, 0xFF), (F32, 0xFF800000), (F8, 0x80), (F16, 0x3555)):
        ran.run(function, (hu.Value.from_bits(number, "i32"), hu.Value.from_bits(code, "i64")))
    assert parts == ["nan", "-nan", "-inf", "-0", "0.333252"]  # as the library prints them


@pytest.mark.parametrize("width", [0, 65, -1])
def test_integers_of_other_widths(width: int) -> None:
    """No pass gives them, and for a signed integer of 0 bits the library ends with a segmentation fault."""
    for name, unsigned in (("convert_to_int", 0), ("convert_to_int", 1), ("convert_from_int", 0)):
        program = called("i32, i32, i1, i64", "%n, %w, %u, %a", f"_mlir_apfloat_{name}")
        program = program.replace("%n: i32", "%n: i32, %w: i32, %u: i1")
        with pytest.raises(hu.Unsupported, match=r"<string>:3:8: error: .* integers of 1 to 64 bits, not of") as caught:
            hu.run(program, F32, width, unsigned, 1)
        assert caught.value.op == "func.call"


def test_a_comparison_of_unspecified_operands_is_unspecified() -> None:
    program = """func.func private @_mlir_apfloat_compare(i32, i64, i64) -> i8
func.func @f(%a: f32) -> i8 {
  %n = arith.constant 2 : i32
  %s = arith.addf %a, %a fastmath<nsz> : f32
  %i = arith.bitcast %s : f32 to i32
  %c = arith.extui %i : i32 to i64
  %r = call @_mlir_apfloat_compare(%n, %c, %c) : (i32, i64, i64) -> i8
  return %r : i8
}"""
    module = hu.parse(program)
    function = module.lookup("f")
    assert function is not None
    (result,) = program_for(module, Settings(track_open=True)).run(function, (hu.Value.from_bits(1 << 31, "f32"),))
    assert int(result.bits) == 1
    assert result.open is not None
    assert result.open.any()
