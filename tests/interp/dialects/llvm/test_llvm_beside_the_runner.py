"""Atomic ops, tests for classes and packed vectors of the llvm dialect, beside mlir-runner."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import halfulp as hu
from halfulp.conformance.oracles.jit import library
from halfulp.conformance.oracles.tool import find_tool

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
