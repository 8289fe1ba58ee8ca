"""mlir-runner's functions as lowered programs call them: with pointers to descriptors and to strings."""

from collections.abc import Iterator

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.conformance.oracles.jit import library
from halfulp.conformance.oracles.tool import find_tool
from halfulp.interp.dialects.llvm.descriptor_memory import conversion
from halfulp.interp.dialects.llvm.lowering import lowered, raised
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import argument_types
from halfulp.interp.run.frames import lift
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.semantics.kernel import Origin, Origins

UNRANKED = """
llvm.func @{name}({types}){result}
llvm.func @f() -> i64 {{
  %size = llvm.mlir.constant(8 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %two = llvm.mlir.constant(2 : i64) : i64
  %x = llvm.mlir.constant(dense<[1.5, -2.5]> : vector<2xf32>) : vector<2xf32>
  %data = llvm.alloca %size x i8 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr
  llvm.store %x, %data : vector<2xf32>, !llvm.ptr
  {extra}
  %u = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %a = llvm.insertvalue %data, %u[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %b = llvm.insertvalue %data, %a[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %c = llvm.insertvalue %zero, %b[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %d = llvm.insertvalue %two, %c[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %e = llvm.insertvalue %one, %d[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %memref = llvm.alloca %one x !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> : (i64) -> !llvm.ptr
  llvm.store %e, %memref : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, !llvm.ptr
  %v = llvm.mlir.poison : !llvm.struct<(i64, ptr)>
  %w = llvm.insertvalue %one, %v[0] : !llvm.struct<(i64, ptr)>
  %y = llvm.insertvalue %memref, %w[1] : !llvm.struct<(i64, ptr)>
  %unranked = llvm.alloca %one x !llvm.struct<(i64, ptr)> : (i64) -> !llvm.ptr
  llvm.store %y, %unranked : !llvm.struct<(i64, ptr)>, !llvm.ptr
  {call}
  llvm.return %r : i64
}}
"""
LAYOUT = "base@ = 0x1000 rank = 1 offset = 0 sizes = [2] strides = [1]"
CALL = "llvm.call @{}({}) : ({}) -> () %r = llvm.add %zero, %zero : i64"


def printed(text: str) -> tuple[str, list[int]]:
    """Return what @f prints, and its results."""
    module, parts = hu.parse(text), list[str]()
    function = module.lookup("f")
    assert function is not None
    results = program_for(module, Settings(write=parts.append)).run(function, ())
    return "".join(parts), [int(value.bits) for value in results]


@each_row(
    ("_mlir_ciface_printMemrefF32", "%unranked", f"Unranked Memref {LAYOUT} data = \n[1.5,  -2.5]\n"),
    ("_mlir_ciface_printMemref1dF32", "%memref", f"Memref {LAYOUT} data = \n[1.5,  -2.5]\n"),
    ("_mlir_ciface_printMemrefShapeF32", "%unranked", f"Unranked Memref {LAYOUT}\n"),
    ("printMemrefF32", "%one, %memref", f"Unranked Memref {LAYOUT} data = \n[1.5,  -2.5]\n"),
)
def test_memrefs(name: str, operands: str, text: str) -> None:
    types = "i64, !llvm.ptr" if "," in operands else "!llvm.ptr"
    call = CALL.format(name, operands, types)
    assert printed(UNRANKED.format(name=name, types=types, result="", extra="", call=call)) == (text, [0])


@pytest.mark.parametrize(("other", "count"), [("%x", 0), ("%n", 2)])
def test_verifying_counts_the_elements_that_differ(other: str, count: int) -> None:
    """The data is compared with itself after one element became a NaN, which equals nothing."""
    nan = "%n = llvm.fdiv %zeros, %zeros : vector<2xf32>"
    extra = f"%zeros = llvm.mlir.constant(dense<0.0> : vector<2xf32>) : vector<2xf32>\n  {nan}\n"
    extra += f"  llvm.store {other}, %data : vector<2xf32>, !llvm.ptr"
    name = "_mlir_ciface_verifyMemRefF32"
    call = f"%r = llvm.call @{name}(%unranked, %unranked) : (!llvm.ptr, !llvm.ptr) -> i64"
    text = UNRANKED.format(name=name, types="!llvm.ptr, !llvm.ptr", result=" -> i64", extra=extra, call=call)
    assert printed(text) == ("", [count])


def test_memory_that_was_freed_is_not_printed() -> None:
    name = "_mlir_ciface_printMemref1dF32"
    call = CALL.format(name, "%memref", "!llvm.ptr")
    text = UNRANKED.format(name=name, types="!llvm.ptr", result="", extra="", call=call)
    text = text.replace("llvm.alloca %size x i8 {alignment = 8 : i64} : (i64)", "llvm.call @malloc(%size) : (i64)")
    text = text.replace("llvm.call @_mlir", "llvm.call @free(%data) : (!llvm.ptr) -> () llvm.call @_mlir")
    text = "llvm.func @malloc(i64) -> !llvm.ptr\nllvm.func @free(!llvm.ptr)\n" + text
    with pytest.raises(hu.UndefinedBehavior, match=r"<string>:27:46: error: llvm.call: .* was freed"):
        printed(text)


def test_many_elements_at_one_place_are_refused() -> None:
    name = "_mlir_ciface_printMemref1dF32"
    call = CALL.format(name, "%memref", "!llvm.ptr")
    text = UNRANKED.format(name=name, types="!llvm.ptr", result="", extra="", call=call)
    text = text.replace("%two = llvm.mlir.constant(2 :", f"%two = llvm.mlir.constant({1 << 62} :")
    text = text.replace("insertvalue %one, %d[4, 0]", "insertvalue %zero, %d[4, 0]")
    with pytest.raises(hu.errors.LimitExceeded, match="llvm.call: 18446744073709551616 bytes of memory are asked for"):
        printed(text)


STRING = """
llvm.func @printString(!llvm.ptr)
llvm.mlir.global private constant @s({value}) : !llvm.array<{size} x i8>
llvm.func @f() {{
  %0 = llvm.mlir.addressof @s : !llvm.ptr
  llvm.call @printString(%0) : (!llvm.ptr) -> ()
  llvm.return
}}
"""


def test_strings_end_at_the_first_zero() -> None:
    assert printed(STRING.format(value='"caf\\C3\\A9\\00 and more"', size=15)) == ("caf\u00e9", [])


def test_a_string_without_an_end_is_undefined() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="byte 3 of the 3 bytes"):
        printed(STRING.format(value='"abc"', size=3))


# --- llvm beside the runner -------------------------------------------------------------------------------------------
#
# Atomic ops, tests for classes and packed vectors of the llvm dialect, beside mlir-runner.

HEAD = """
llvm.func @printI64(i64)
llvm.func @printNewline()
llvm.func @show(%x: i64) {
  llvm.call @printI64(%x) : (i64) -> ()
  llvm.call @printNewline() : () -> ()
  llvm.return
}
"""
INTEGERS = (0, 1, 5, 127, 128, 254, 255)
WHOLE = (
    "xchg", "add", "sub", "_and", "nand", "_or", "_xor", "max", "min", "umax", "umin", "uinc_wrap", "udec_wrap",
    "usub_cond", "usub_sat",
)  # fmt: skip
FLOATS = ("1.5", "-2.25", "0.0", "-0.0", "0x7F800000", "3.0e38", "1.0e-45")
OF_FLOATS = ("xchg", "fadd", "fsub", "fmax", "fmin", "fmaximum", "fminimum")


def _shown(lines: Iterator[str]) -> str:
    """Return a program that runs lines and prints the values %s0, %s1, … of i64 that they make."""
    body = "\n".join(f"{line}\n  llvm.call @show(%s{number}) : (i64) -> ()" for number, line in enumerate(lines))
    return f"""{HEAD}llvm.func @main() {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %p = llvm.alloca %one x vector<4xi64> : (i64) -> !llvm.ptr
{body}
  llvm.return
}}
"""


def _combined() -> Iterator[str]:
    """Combine each pair by each kind. A shown number is the old and the new value side by side."""
    cases = [("i8", kind, a, b) for kind in WHOLE for a in INTEGERS for b in INTEGERS]
    # LLVM leaves open which zero fmax and fmin give, and the bits of a new NaN.
    pairs = [(a, b) for a in FLOATS for b in FLOATS if {a, b} not in ({"0.0", "-0.0"}, {"0x7F800000"})]
    floats = [("f32", kind, a, b) for kind in OF_FLOATS for a, b in pairs]
    for n, (type_, kind, a, b) in enumerate([*cases, *floats]):
        width = 8 if type_ == "i8" else 32
        yield f"""
  %a{n} = llvm.mlir.constant({a} : {type_}) : {type_}
  %b{n} = llvm.mlir.constant({b} : {type_}) : {type_}
  llvm.store %a{n}, %p : {type_}, !llvm.ptr
  %o{n} = llvm.atomicrmw {kind} %p, %b{n} acq_rel : !llvm.ptr, {type_}
  %n{n} = llvm.load %p : !llvm.ptr -> i{width}
  %i{n} = llvm.bitcast %o{n} : {type_} to i{width}
  %x{n} = llvm.zext %i{n} : i{width} to i64
  %y{n} = llvm.zext %n{n} : i{width} to i64
  %w{n} = llvm.mlir.constant({width} : i64) : i64
  %z{n} = llvm.shl %x{n}, %w{n} : i64
  %s{n} = llvm.or %z{n}, %y{n} : i64"""


def _exchanged() -> Iterator[str]:
    """Exchange numbers and pointers that are, and that are not, the expected ones."""
    cases = [("i32", "weak ", 5, 5, 7), ("i32", "", 5, 6, 7), ("i64", "", -1, -1, 3), ("!llvm.ptr", "", 64, 64, 128),
             ("!llvm.ptr", "weak volatile ", 64, 32, 128)]  # fmt: skip
    for case, (type_, words, old, expected, new) in enumerate(cases):
        integer = "i64" if type_ == "!llvm.ptr" else type_
        value, back = ("llvm.inttoptr", "llvm.ptrtoint") if type_ == "!llvm.ptr" else ("llvm.bitcast", "llvm.bitcast")
        constants = "\n".join(
            f"  %k{name}{case} = llvm.mlir.constant({number} : {integer}) : {integer}\n"
            f"  %{name}{case} = {value} %k{name}{case} : {integer} to {type_}"
            for name, number in (("o", old), ("e", expected), ("n", new))
        )
        struct = f"!llvm.struct<({'ptr' if type_ == '!llvm.ptr' else type_}, i1)>"
        widened = "llvm.zext" if integer == "i32" else "llvm.bitcast"
        yield f"""{constants}
  llvm.store %o{case}, %p : {type_}, !llvm.ptr
  %r{case} = llvm.cmpxchg {words}%p, %e{case}, %n{case} seq_cst monotonic : !llvm.ptr, {type_}
  %f{case} = llvm.extractvalue %r{case}[1] : {struct}
  %s{3 * case} = llvm.zext %f{case} : i1 to i64"""
        yield f"""  %v{case} = llvm.extractvalue %r{case}[0] : {struct}
  %i{case} = {back} %v{case} : {type_} to {integer}
  %s{3 * case + 1} = {widened} %i{case} : {integer} to i64"""
        yield f"""  llvm.fence acquire
  %l{case} = llvm.load %p : !llvm.ptr -> {integer}
  %s{3 * case + 2} = {widened} %l{case} : {integer} to i64"""


_CLASSED = {
    "f32": (0x7F800001, 0xFFA00000, 0x7FC00000, 0xFF800000, 0xBF800000, 0x80000001, 0x80000000, 0, 0x007FFFFF,
            0x00800000, 0x7F800000),
    "f64": (0x7FF0000000000001, 0x7FF8000000000000, 0xFFF0000000000000, 0x800FFFFFFFFFFFFF, 0x0010000000000000),
    "f16": (0x7C01, 0xFE00, 0xFC00, 0x8400, 0x83FF, 0x8000, 0, 1, 0x3C00, 0x7C00),
}  # fmt: skip
_MASKS = (*(1 << bit for bit in range(10)), 0, 3, 0x204, 0x60, 0x3FF, 0x155)


def _classes() -> Iterator[str]:
    """Ask of codes of each class whether they are of some classes. A shown number has a bit for each mask."""
    for n, (type_, code) in enumerate((type_, code) for type_, codes in _CLASSED.items() for code in codes):
        width = type_[1:]
        lines = [
            f"  %k{n} = llvm.mlir.constant({code} : i{width}) : i{width}",
            f"  %x{n} = llvm.bitcast %k{n} : i{width} to {type_}",
            f"  %t{n}_0 = llvm.mlir.constant(0 : i64) : i64",
        ]
        for bit, mask in enumerate(_MASKS):
            end = f"s{n}" if bit == len(_MASKS) - 1 else f"t{n}_{bit + 1}"
            lines.append(f"""  %a{n}_{bit} = "llvm.intr.is.fpclass"(%x{n}) <{{bit = {mask} : i32}}> : ({type_}) -> i1
  %b{n}_{bit} = llvm.zext %a{n}_{bit} : i1 to i64
  %c{n}_{bit} = llvm.mlir.constant({bit} : i64) : i64
  %d{n}_{bit} = llvm.shl %b{n}_{bit}, %c{n}_{bit} : i64
  %{end} = llvm.or %t{n}_{bit}, %d{n}_{bit} : i64""")
        yield "\n".join(lines)


def _packed() -> Iterator[str]:
    """Store and load the elements that masks name, one after the other in memory, beside what was there."""
    vector, mask_type = "vector<4xi16>", "vector<4xi1>"
    for n in range(16):
        mask = ", ".join(str(bool(n >> lane & 1)).lower() for lane in range(4))
        yield f"""  %m{n} = llvm.mlir.constant(dense<[{mask}]> : {mask_type}) : {mask_type}
  %v{n} = llvm.mlir.constant(dense<[{n}, 1001, -2, 3003]> : {vector}) : {vector}
  %u{n} = llvm.mlir.constant(dense<[70, 71, 72, 73]> : {vector}) : {vector}
  llvm.store %u{n}, %p : {vector}, !llvm.ptr
  "llvm.intr.masked.compressstore"(%v{n}, %p, %m{n}) : ({vector}, !llvm.ptr, {mask_type}) -> ()
  %s{2 * n} = llvm.load %p : !llvm.ptr -> i64"""
        yield f"""  %e{n} = "llvm.intr.masked.expandload"(%p, %m{n}, %v{n}) : (!llvm.ptr, {mask_type}, {vector}) -> {vector}
  %s{2 * n + 1} = llvm.bitcast %e{n} : {vector} to i64"""


@pytest.mark.mlir
@pytest.mark.parametrize("lines", [_combined, _exchanged, _classes, _packed])
def test_the_runner_prints_the_same(lines: object, capfd: pytest.CaptureFixture[str]) -> None:
    assert callable(lines)
    program = _shown(lines())
    hu.run(program, function="main")
    found = capfd.readouterr().out
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22")
    said = runner.run(
        ["-e", "main", "-entry-point-result=void", f"-shared-libs={library(runner, 'libmlir_c_runner_utils.so')}"],
        text=program,
    )
    assert found
    assert found == said


# --- llvm lowering ----------------------------------------------------------------------------------------------------
#
# Values in the llvm dialect's types, and back: bits, poison and marks.

F32 = ty.F("f32")


def argument_type(text: str) -> ty.Type:
    (type_,) = argument_types(hu.parse(f"func.func private @f({text})").body[0])
    return type_


def test_rows_of_a_vector() -> None:
    origins = Origins()
    lost = origins.id_of(Origin("a.b", "", "made up", ()))
    bits = np.arange(6, dtype=np.uint32).reshape(2, 3)
    poison, open_ = (np.zeros((2, 3), dtype) for dtype in (np.uint16, np.uint8))
    poison[1, 2], open_[0, 1] = lost, 4
    value = hu.Value(ty.VectorType((2, 3), F32), bits, poison, open_, origins)
    rows = lowered(value)
    assert [row.bits.tolist() for row in rows] == [[0, 1, 2], [3, 4, 5]]
    assert rows[0].poison is None
    assert rows[1].poisoned.tolist() == [False, False, True]
    back = raised(rows, value.type)
    assert back.bits.tolist() == bits.tolist()
    assert back.poisoned.tolist() == [[False] * 3, [False, False, True]]
    assert back.open is not None
    assert back.open.tolist() == open_.tolist()
    assert str(back.origin(1, 2)) == str(value.origin(1, 2))


@pytest.mark.parametrize("marks", [(0, 4), (4, 0), (2, 4)])
def test_a_complex_number_is_as_unspecified_as_its_parts(marks: tuple[int, int]) -> None:
    parts = tuple(hu.Value(F32, np.array(7, np.uint32), None, np.array(mark, np.uint8)) for mark in marks)
    whole = raised(parts, ty.ComplexType(F32))
    assert whole.open is not None
    assert int(whole.open) == marks[0] | marks[1]
    assert [int(lift(part, F32).open) for part in lowered(whole)] == [marks[0] | marks[1]] * 2


@pytest.mark.parametrize("pair", [("vector<2x!llvm.ptr>", "vector<2xi64>"), ("vector<[4]xf32>", "vector<[4]xf32>")])
def test_what_has_no_conversion(pair: tuple[str, str]) -> None:
    assert conversion(*map(argument_type, pair)) is None
