"""Random programs that abuse memory: code beside the executor with guards around all memory, llvm batches beside single
runs."""

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from amounts import amounts

import halfulp as hu
from halfulp.fp_formats.paths import llvm
from halfulp.interp.values.buffers import Allocation, Buffer

pytest.importorskip("llvmlite")

GUARD = 64
INDICES = (0, 1, 2, 3, 4, 7, 31, -1, -2, 1 << 31, 1 << 32, 1 << 62, -(1 << 63), (1 << 63) - 1)
ELEMENTS = ("i8", "i32", "f32", "i17", "index", "bf16")


def memory_program(seed: int) -> str:
    """Return loops, branches and accesses of memrefs, some of them outside, freed, or of poison."""
    rng = random.Random(seed)
    risk = rng.choice((0.0, 0.02, 0.2))
    element = rng.choice(ELEMENTS)
    type_ = f"memref<?x4x{element}>"
    memories, values, numbers, lines = ["%a", "%b"], ["%x"], ["%i", "%j"], []
    names = (f"%v{k}" for k in range(10_000))

    def number() -> str:
        if rng.random() < 0.5:
            return rng.choice(numbers)
        lines.append(
            f"{(name := next(names))} = arith.constant {rng.choice(INDICES[: 14 if rng.random() < risk else 4])} : index"
        )
        return name

    def inside(size: str) -> str:
        index = number()
        if rng.random() < risk:
            return index
        lines.append(f"{(name := next(names))} = arith.remui {index}, {size} : index")
        return name

    def op(depth: int) -> None:
        kind = rng.choice(("load", "load", "store", "store", "alloc", "free", "copy", "for", "if", "add", "view"))
        name, memory = next(names), rng.choice(memories)
        if kind in ("load", "store"):
            lines.append(f"{(size := next(names))} = memref.dim {memory}, %c0 : {type_}")
            lines.append(f"{(most := next(names))} = arith.maxui {size}, %c1 : index")
            place = f"{memory}[{inside(most)}, {inside('%c4')}] : {type_}"
            if kind == "load":
                lines.append(f"{name} = memref.load {place}")
                values.append(name)
            else:
                lines.append(f"memref.store {rng.choice(values)}, {place}")
        elif kind == "alloc":
            lines.append(
                f"{name} = memref.alloc({rng.choice(('%c1', '%c4', number() if rng.random() < risk else '%c4'))}) : {type_}"
            )
            memories.append(name)
            if rng.random() > risk:
                lines.append(f"linalg.fill ins(%x : {element}) outs({name} : {type_})")
        elif kind == "free" and rng.random() < risk:
            lines.append(f"memref.dealloc {memory} : {type_}")
        elif kind == "copy" and rng.random() < 0.3 + risk:
            lines.append(f"memref.copy {memory}, {rng.choice(memories)} : {type_} to {type_}")
        elif kind == "add":
            lines.append(
                f"{name} = arith.{rng.choice(('addi', 'muli', 'subi', 'shrui'))} {number()}, {number()} : index"
            )
            numbers.append(name)
        elif kind in ("for", "if") and depth < 3:
            if kind == "for":
                lines.append(f"scf.for {name} = %c0 to {rng.choice(('%c4', '%j'))} step %c1 {{")
            else:
                lines.append(f"{name} = arith.cmpi ult, {number()}, {number()} : index\nscf.if {name} {{")
            held = [list(memories), list(values), list(numbers)]
            if kind == "for":
                numbers.append(name)
            for _ in range(rng.randint(1, 4)):
                op(depth + 1)
            lines.append("}")
            memories[:], values[:], numbers[:] = held

    for _ in range(rng.randint(5, 18)):
        op(0)
    head = "".join(f"%c{k} = arith.constant {k} : index\n" for k in (0, 1, 4))
    return (
        f"func.func @f(%a: {type_}, %b: {type_}, %i: index, %j: index, %x: {element}) -> {element} {{\n"
        f"{head}{chr(10).join(lines)}\nreturn {values[-1]} : {element}\n}}"
    )


class Guards:
    """Puts random elements before and behind the elements of memory, which must not change."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._kept: list[tuple[Any, Any, int]] = []
        rng, made = np.random.default_rng(7), Allocation.__init__

        def begin(memory: Allocation, *arguments: Any) -> None:
            made(memory, *arguments)
            bits, count = memory.bits, len(memory.bits)
            whole = np.empty((count + 2 * GUARD, *bits.shape[1:]), bits.dtype)
            whole.view(np.uint8)[...] = rng.integers(1, 255, whole.view(np.uint8).shape, np.uint8)
            whole[GUARD : GUARD + count] = bits
            memory.bits = whole[GUARD : GUARD + count]
            self._kept.append((whole, whole.copy(), count))

        monkeypatch.setattr(Allocation, "__init__", begin)

    def check(self) -> None:
        for whole, before, count in self._kept:
            assert np.array_equal(whole[:GUARD], before[:GUARD])
            assert np.array_equal(whole[GUARD + count :], before[GUARD + count :])
        self._kept.clear()


def ended(module: hu.Module, seed: int, element: str) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    width = {"index": 64, "bf16": 16}.get(element) or int(element[1:])
    dtype = np.uint8 if width <= 8 else np.uint16 if width <= 16 else np.uint32 if width <= 32 else np.uint64
    codes = lambda shape: rng.integers(0, 1 << min(width, 63), shape, np.uint64).astype(dtype)  # noqa: E731
    memories = [Buffer.from_numpy(hu.Value.from_bits(codes((int(rows), 4)), element), f"memref<?x4x{element}>")
                for rows in rng.integers(1, 5, 2)]  # fmt: skip
    numbers = [int(rng.choice(INDICES[: 14 if seed % 5 == 0 else 5])) for _ in range(2)]
    try:
        results = hu.run(
            module, *memories, *numbers, hu.Value.from_bits(codes(()), element), max_steps=20_000, max_bytes=1 << 20
        )
    except hu.HalfulpError as error:
        return type(error).__name__, str(error)
    loaded = [*results, *(memory.load() for memory in memories)]
    return "ended", [(np.where(v.poisoned, 0, v.bits).tolist(), v.poisoned.tolist()) for v in loaded]


@pytest.mark.long
@pytest.mark.parametrize("count", amounts(12, 100_000, long=100))
def test_code_does_what_the_executor_does(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    guards, outcomes, before = Guards(monkeypatch), Counter[str](), llvm.backend()
    try:
        for seed in range(count):
            text = memory_program(seed)
            element = text.partition("%x: ")[2].partition(")")[0]
            found = []
            for backend in ("numpy", "llvm"):
                llvm.use(backend)
                module = hu.load(text)
                found.append([ended(module, 10 * seed + k, element) for k in range(3)])
                guards.check()
            assert found[0] == found[1], (seed, text)
            outcomes.update(each[0] for each in found[0])
    finally:
        llvm.use(before)
    assert outcomes["ended"] > count / 4, outcomes


def llvm_program(seed: int) -> str:
    rng = random.Random(seed)
    risk = rng.choice((0.02, 0.2, 0.6))
    pointers, numbers, lines = ["%p", "%q"], ["%i", "%j"], []
    for k in range(rng.randint(4, 20)):
        name, pointer, type_ = (
            f"%v{k}",
            rng.choice(pointers),
            rng.choice(("i8", "i32", "i64", "f32", "i17", "!llvm.ptr")),
        )
        kind = rng.choice(("gep", "gep", "load", "store", "store", "copy", "set", "cast", "alloca", "select", "add"))
        if kind == "gep":
            index = rng.choice(INDICES[7:]) if rng.random() < risk else rng.randint(0, 3)
            lines.append(f"%k{k} = llvm.mlir.constant({index} : i64) : i64")
            lines.append(
                f"{name} = llvm.getelementptr {rng.choice(('', 'inbounds '))}{pointer}[%k{k}] : (!llvm.ptr, i64) -> !llvm.ptr, {type_}"
            )
            pointers.append(name)
        elif kind == "load":
            lines.append(f"{name} = llvm.load {pointer} : !llvm.ptr -> {type_}")
            if type_ == "!llvm.ptr":
                pointers.append(name)
            elif type_ == "i64":
                numbers.append(name)
        elif kind == "store":
            lines.append(f"llvm.store {rng.choice(numbers)}, {pointer} : i64, !llvm.ptr")
        elif kind == "copy":
            size = rng.choice(numbers)
            lines.append(f'"llvm.intr.{rng.choice(("memcpy", "memmove"))}"({pointer}, {rng.choice(pointers)}, {size}) '
                         "<{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()")  # fmt: skip
        elif kind == "set":
            lines.append(f"%k{k} = llvm.mlir.constant(1 : i8) : i8")
            lines.append(
                f'"llvm.intr.memset"({pointer}, %k{k}, {rng.choice(numbers)}) <{{isVolatile = false}}> : (!llvm.ptr, i8, i64) -> ()'
            )
        elif kind == "cast":
            lines.append(
                f"%k{k} = llvm.ptrtoint {pointer} : !llvm.ptr to i64\n{name} = llvm.inttoptr %k{k} : i64 to !llvm.ptr"
            )
            pointers.append(name)
        elif kind == "alloca":
            lines.append(
                f"{name} = llvm.alloca {rng.choice(('%c4', '%i' if rng.random() < risk else '%c4'))} x {type_} : (i64) -> !llvm.ptr"
            )
            pointers.append(name)
        elif kind == "select":
            lines.append(
                f'%k{k} = llvm.icmp "ult" %i, %j : i64\n{name} = llvm.select %k{k}, {pointer}, {rng.choice(pointers)} : i1, !llvm.ptr'
            )
            pointers.append(name)
        else:
            lines.append(
                f"{name} = llvm.{rng.choice(('add', 'mul', 'shl', 'udiv'))} {rng.choice(numbers)}, {rng.choice(numbers)} : i64"
            )
            numbers.append(name)
    head = ("%c4 = llvm.mlir.constant(4 : i64) : i64\n%p = llvm.alloca %c4 x i64 : (i64) -> !llvm.ptr\n"
            "%q = llvm.alloca %c4 x i64 : (i64) -> !llvm.ptr\n")  # fmt: skip
    return f"llvm.func @f(%i: i64, %j: i64) -> i64 {{\n{head}{chr(10).join(lines)}\nllvm.return {numbers[-1]} : i64\n}}"


@pytest.mark.long
@pytest.mark.parametrize("count", amounts(60, 100_000, long=500))
def test_a_batch_of_llvm_programs_does_what_single_runs_do(count: int) -> None:
    outcomes = Counter[str]()
    for seed in range(count):
        rng, module = random.Random(seed), hu.load(llvm_program(seed))
        numbers = [rng.choice(INDICES), rng.randint(0, 3)]
        found: list[Any] = []
        for batch in (False, True):
            given = [np.full(2, each, np.int64) if batch else each for each in numbers]
            try:
                (value,) = hu.run(module, *given, max_steps=5_000, max_bytes=1 << 22, batch=batch)
                lanes = np.broadcast_to(np.where(value.poisoned, 0, value.bits), 2)
                found.append(("ended", lanes.tolist(), np.broadcast_to(value.poisoned, 2).tolist()))
            except hu.HalfulpError as error:
                found.append((type(error).__name__,))
        assert found[0] == found[1], (seed, numbers)
        outcomes[found[0][0]] += 1
    assert len(outcomes) > 1, outcomes
