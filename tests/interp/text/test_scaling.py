"""The work of reading, verifying, printing and writing grows as the text does, for texts of many kinds."""

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from amounts import amounts, thinned

import halfulp as hu
from halfulp.interp.ir.base import decimal_number, decimal_text


def joined(count: int, part: Callable[[int], str], between: str = "\n") -> str:
    return between.join(map(part, range(count)))


def body(lines: str, signature: str = "(%a: i32)") -> str:
    return f"func.func @f{signature} {{\n{lines}\n  return\n}}"


KINDS: dict[str, Callable[[int], str]] = {
    "ops": lambda n: body(joined(n, lambda k: f"  %v{k} = arith.addi %{f'v{k - 1}' if k else 'a'}, %a : i32")),
    "uses of one value": lambda n: body('  "u.use"(%a) : (i32) -> ()\n' * n),
    "values that dominate": lambda n: body(
        "  cf.br ^b0\n" + joined(n, lambda k: f"^b{k}:\n  %v{k} = arith.addi %a, %{f'v{k // 2}' if k else 'a'} : i32\n"
                                 f"  cf.br ^b{k + 1}") + f"\n^b{n}:"),
    "blocks that lead back": lambda n: body(
        f"  cf.br ^b{n - 1}\n" + joined(n - 1, lambda k: f"^b{n - 1 - k}:\n  cf.br ^b{n - 2 - k}") + "\n^b0:"),
    "branches everywhere": lambda n: "func.func @f(%c: i1) {\n  cf.br ^b0\n" + joined(
        n, lambda k: f"^b{k}:\n  cf.cond_br %c, ^b{(k + 1) % n}, ^b{(7 * k + 3) % n}") + "\n}",
    "symbols": lambda n: joined(n, lambda k: f"func.func private @s{k}()") + "\n" + body(
        joined(n, lambda k: f"  func.call @s{k}() : () -> ()")),
    "functions": lambda n: joined(n, lambda k: f"func.func @f{k}(%a: i32) -> i32 {{\n  return %a : i32\n}}"),
    "modules": lambda n: joined(n, lambda k: f"module @m{k} {{ func.func private @f() }}"),
    "aliases": lambda n: joined(n, lambda k: f"#a{k} = {k} : i32") + "\nmodule attributes {a.b = ["
    + joined(n, lambda k: f"#a{k}", ", ") + "]} {}",
    "names used again": lambda n: body("  scf.if %c { %x = arith.constant 1 : i32 }\n" * n, "(%c: i1)"),
    "values before their ops": lambda n: "module {\n" + joined(
        n, lambda k: f'  %v{k} = "u.op"(%v{k + 1}) : (i32) -> i32') + f'\n  %v{n} = "u.c"() : () -> i32\n}}',
    "unknown dialects": lambda n: body(joined(n, lambda k: f'  "u{k}.op"() {{x = #u{k}.a<"b">}} : () -> !u{k}.t<[1]>')),
    "block arguments": lambda n: body(
        "  cf.br ^b(" + ", ".join(["%a"] * n) + " : " + ", ".join(["i32"] * n) + ")\n^b("
        + joined(n, lambda k: f"%b{k}: i32", ", ") + "):"),
    "locations": lambda n: "module {} loc(fused[" + joined(n, lambda k: f'"f":{k}:1', ", ") + "])",
    "elements": lambda n: f"module attributes {{a.d = dense<[{joined(n, str, ', ')}]> : tensor<{n}xi32>}} {{}}",
    "globals": lambda n: joined(n, lambda k: f"memref.global @g{k} : memref<4xf32> = dense<{k}.0>") + "\n" + body(
        joined(n, lambda k: f"  %{k} = memref.get_global @g{k} : memref<4xf32>")),
    "llvm": lambda n: joined(n, lambda k: f"llvm.func @f{k}(%a: i32) {{\n  %0 = llvm.add %a, %a : i32\n  llvm.return\n}}"),
}  # fmt: skip


def everything(text: str) -> None:
    module = hu.load(text)
    hu.print_module(module)
    hu.print_module(module, generic=True)
    hu.read_bytecode(hu.write_bytecode(module))


def calls(text: str) -> int:
    """Count the calls of functions, of Python and of C."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        everything(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.long
@pytest.mark.parametrize("kind", thinned(KINDS, 6))
def test_the_calls_grow_as_the_text(kind: str) -> None:
    everything(KINDS[kind](20))
    small, large = (calls(KINDS[kind](count)) for count in (100, 400))
    assert large <= 4.4 * small


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", amounts(4_000, 16_000))
def test_the_time_grows_as_the_text(kind: str, most: int) -> None:
    """n log n takes 4.6 times as long for 4 times the text, and n^2 takes 16 times; other work on the machine blurs both."""

    def seconds(count: int) -> float:
        begin = time.process_time()
        everything(KINDS[kind](count))
        return time.process_time() - begin

    everything(KINDS[kind](20))
    assert min(seconds(most) for _ in range(2)) <= 9 * max(min(seconds(most // 4) for _ in range(2)), 0.02)


@pytest.mark.long
def test_nothing_is_collected_while_a_module_is_printed() -> None:
    """The first collection after a module was read looks at all of it, and so would each one that follows."""
    module = hu.load(KINDS["branches everywhere"](500))
    collections: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        collections.append(phase)

    gc.collect()
    gc.callbacks.append(note)
    try:
        hu.print_module(module)
    finally:
        gc.callbacks.remove(note)
    assert collections == []


@pytest.mark.parametrize("digits", [4_299, 4_301, 60_000])
def test_long_integers_keep_all_digits(digits: int) -> None:
    text = ("1234567890" * (digits // 10 + 1))[:digits]
    number = decimal_number(text)
    assert (number % 10**20, number // 10 ** (digits - 20)) == (int(text[-20:]), int(text[:20]))
    assert (decimal_text(number), decimal_text(-number), decimal_number(f"-{text}")) == (text, f"-{text}", -number)
    width = number.bit_length() + 1
    module = hu.load(f"module attributes {{a.i = {text} : i{width}}} {{}}")
    assert text in hu.print_module(module)
    assert hu.print_module(hu.read_bytecode(hu.write_bytecode(module))) == hu.print_module(module)


@pytest.mark.long
def test_long_integers_take_no_quadratic_time() -> None:
    """800,000 digits took 3 s to be read and 2 s to be written. Ten times the digits take ten times as long, not 100."""

    def seconds(digits: int) -> float:
        text = f"module attributes {{a.i = {'7' * digits} : i{4 * digits}}} {{}}"
        begin = time.process_time()
        everything(text)
        return time.process_time() - begin

    seconds(5_000)
    assert seconds(1_000_000) <= 40 * max(seconds(100_000), 0.02)
