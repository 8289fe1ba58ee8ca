"""A machine that runs the LLVM IR of a kernel of Triton for all threads of a block, by NumPy: shuffles, shared memory.

It is written apart from halfulp, except for the instructions of matrix units (`warp_units`), which are the models of the
chips. Each value has an element for each thread; vectors and structs are lists. Threads that part wait at later blocks
of the text. `warp_fusion` finds the products that LLVM fuses into additions after this IR.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import warp_units
from warp_fusion import FusedSums, Part
from warp_text import Constant, Instruction, Name, Operand, Type, kernel_of

Array = npt.NDArray[Any]
DTYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
CODES: dict[str, Any] = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}


def code_type(bits: int) -> Any:
    """Return the dtype that holds integers of this width."""
    return next(np.dtype(f"u{size}") for size in (1, 2, 4, 8) if bits <= 8 * size)


def dtype_of(type_: Type) -> Any:
    """Return the dtype of a scalar type."""
    if type_.kind == "f":
        return np.dtype(DTYPES[type_.name])
    return code_type(64 if type_.kind == "p" else type_.size)


def cut(bits: int, values: Array) -> Array:
    """Return integers without the bits above their width."""
    return values if bits in (8, 16, 32, 64) else values & values.dtype.type((1 << bits) - 1)


def signed(bits: int, values: Array) -> Array:
    """Return integers with their sign, as int64."""
    shift = np.int64(64 - bits)
    return values.astype(np.int64) << shift >> shift


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c rounded once. Through float64 rounded to odd, which has more than twice the bits and two."""
    if a.dtype == np.float64:
        raise NotImplementedError("fma of f64")
    product = a.astype(np.float64) * b.astype(np.float64)
    other = c.astype(np.float64)
    total = product + other
    back = total - product
    error = (product - (total - back)) + (other - back)
    inexact = np.isfinite(total) & (error != 0) & (total.view(np.uint64) & 1 == 0)
    odd = np.where(inexact, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)
    if a.dtype != DTYPES["bf16"]:
        return odd.astype(a.dtype)
    narrow = odd.astype(np.float32)
    wide = narrow.astype(np.float64)
    wrong = np.isfinite(narrow) & (wide != odd) & (narrow.view(np.uint32) & 1 == 0)
    return np.where(
        wrong, np.nextafter(narrow, np.where(odd > wide, np.inf, -np.inf).astype(np.float32)), narrow
    ).astype(a.dtype)


# --- the machine ------------------------------------------------------------------------------------------------------


class Machine:
    """A block of threads that runs a kernel. ``memory``: the bytes of all arguments, which begin at ``BASE``."""

    BASE = 1 << 20

    def __init__(
        self, text: str, threads: int, lanes: int, memory: Array, fusion: bool, shared: int, chip: str
    ) -> None:
        self.function = kernel_of(text)
        self.threads, self.lanes, self.memory, self.chip = threads, lanes, memory, chip
        self.shared = np.zeros(shared + 1024, np.uint8)
        self.lane = np.arange(threads) % lanes
        self.warp = np.arange(threads) // lanes
        self._names: dict[str, Any] = {}
        self._active = np.ones(threads, bool)
        self._fused: dict[str, dict[int, tuple[Part, int]]] = {}
        self.fused = 0
        if fusion:
            for block in self.function.blocks.values():
                for (name, place), found in FusedSums(block, self.function, chip.startswith("sm")).sums.items():
                    self._fused.setdefault(name, {})[place] = found

    def run(self, arguments: Sequence[int]) -> None:
        """Run the kernel for the first program of a grid."""
        given = [*arguments, *[0] * (len(self.function.arguments) - len(arguments))]
        for (type_, operand), value in zip(self.function.arguments, given, strict=True):
            assert isinstance(operand, Name)
            self._names[operand.text] = np.full(self.threads, value, dtype_of(type_))
        labels = list(self.function.blocks)
        self._numbers = {label: number for number, label in enumerate(labels)}
        self._at = np.zeros(self.threads, np.intp)
        self._from = np.full(self.threads, -1)
        while (self._at < len(labels)).any():
            number = int(self._at.min())
            self._active = self._at == number
            self._execute(self.function.blocks[labels[number]], number)

    def _execute(self, block: list[Instruction], number: int) -> None:
        phis = [(each, self._phi(each)) for each in block if each.op == "phi"]
        for each, value in phis:
            self._set(each.name, value)
        for each in block[len(phis) :]:
            if each.op == "ret":
                self._at[self._active] = len(self.function.blocks)
            elif each.op in ("br", "switch"):
                self._jump(each, number)
            else:
                value = self._value(each)
                if each.name:
                    self._set(each.name, value)

    def _jump(self, each: Instruction, number: int) -> None:
        labels = [self._numbers[label] for label in each.flags["labels"]]
        target = np.full(self.threads, labels[0])
        if len(labels) > 1 and each.op == "br":
            target = np.where(self._read(*each.operands[0]) != 0, labels[0], labels[1])
        for label, case in zip(labels[1:], each.operands[1:], strict=False):
            target = np.where(self._read(*each.operands[0]) == self._read(*case), label, target)
        self._from[self._active] = number
        self._at[self._active] = target[self._active]

    def _phi(self, each: Instruction) -> Any:
        found: Any = None
        for operand, label in each.flags["edges"]:
            chosen = self._from == self._numbers[label]
            if (chosen & self._active).any():
                value = self._read(each.type, operand)
                found = value if found is None else self._merged(chosen, value, found)
        return found

    def _merged(self, mask: Array, new: Any, old: Any) -> Any:
        if isinstance(new, list):
            return [self._merged(mask, *pair) for pair in zip(new, old, strict=True)]
        return np.where(mask, new, old)

    def _set(self, name: str, value: Any) -> None:
        if not self._active.all() and name in self._names:
            value = self._merged(self._active, value, self._names[name])
        self._names[name] = value

    # --- operands ---

    def _read(self, type_: Type, operand: Operand) -> Any:
        if isinstance(operand, Name):
            return self._names[operand.text]
        word = operand.word
        if type_.kind in "vas":
            inner = [type_.inner[k if type_.kind == "s" else 0] for k in range(type_.size)]
            if isinstance(word, list):
                return [self._read(*pair) for pair in zip(inner, word, strict=True)]
            if isinstance(word, tuple):
                return [self._read(each, word[1]) for each in inner]
            return [self._read(each, operand) for each in inner]
        if isinstance(word, tuple) and word[0] == "integer":
            return self._read(*word[1]).astype(dtype_of(type_))
        if isinstance(word, tuple):
            _, element, parts = word
            return self._address(element, parts)
        dtype = dtype_of(type_)
        if word in ("poison", "undef", "null", "zeroinitializer", "false") or word[0] == "@":
            return np.zeros(self.threads, dtype)
        if type_.kind == "f":
            if (found := re.fullmatch(r"([+-])q?nan\(0x([0-9A-F]+)\)", word)) is not None:
                quiet = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8 << 48}[type_.name]
                sign = (1 << type_.size - 1) if found[1] == "-" else 0
                return np.full(self.threads, quiet | sign | int(found[2], 16), CODES[type_.name]).view(dtype)
            if (found := re.fullmatch(r"f?0x[HR]?([0-9A-F]+)", word)) is None:
                return np.full(self.threads, float(word.replace("qnan", "nan"))).astype(dtype)
            code = int(found[1], 16)
            if word[0] == "f" or word[2] in "HR":
                return np.full(self.threads, code, CODES[type_.name]).view(dtype)
            return np.full(self.threads, code, np.uint64).view(np.float64).astype(dtype)
        value = 1 if word == "true" else int(word)
        return np.full(self.threads, value % (1 << min(type_.size, 64)), dtype)

    def _address(self, element: Type, parts: Sequence[tuple[Type, Operand]]) -> Array:
        base: Array = self._read(*parts[0]).astype(np.uint64)
        for number, (type_, operand) in enumerate(parts[1:]):
            if number:
                element = element.inner[0]
            base = base + (signed(type_.size, self._read(type_, operand)) * element.bytes).astype(np.uint64)
        return base

    # --- instructions ---

    def _value(self, each: Instruction) -> Any:
        op, operands = each.op, each.operands
        if op == "call":
            return self._call(each)
        if op == "asm":
            return self._assembly(each)
        if op == "fence":
            return None
        if op == "getelementptr":
            return self._address(each.flags["element"], operands)
        values = [self._read(*pair) for pair in operands]
        if op == "load":
            return self.load(operands[0][0], values[0], each.type)
        if op == "store":
            self.store(operands[1][0], values[1], operands[0][0], values[0])
            return None
        if op == "atomicrmw":
            return self._atomic(operands[0][0], values[0], operands[1][0], values[1], each.flags["rule"])
        if op == "insertelement":
            return [*values[0][: (k := int(values[2][0]))], values[1], *values[0][k + 1 :]]
        if op == "extractelement":
            return values[0][int(values[1][0])]
        if op == "shufflevector":
            both = [*values[0], *values[1]]
            return [both[int(place[0])] for place in self._read(*operands[2])]
        if op == "insertvalue":
            return [*values[0][: (k := each.flags["place"])], values[1], *values[0][k + 1 :]]
        if op == "extractvalue":
            return values[0][each.flags["place"]]
        if op == "freeze":
            return values[0]
        if op == "select":
            return self._select(values)
        if op == "bitcast":
            return self._cast_bits(operands[0][0], values[0], each.type)
        return self._each(each, values)

    def _select(self, values: Sequence[Any]) -> Any:
        condition, yes, no = values
        if isinstance(condition, list):
            return [np.where(c != 0, y, n) for c, y, n in zip(condition, yes, no, strict=True)]
        return self._merged(condition != 0, yes, no)

    def _each(self, each: Instruction, values: Sequence[Any]) -> Any:
        """Compute an elementwise instruction."""
        source = each.operands[0][0]
        if source.kind != "v":
            return self._scalar(each, source, each.type, values, -1)
        type_ = each.type.inner[0] if each.type.kind == "v" else each.type
        return [self._scalar(each, source.inner[0], type_, part, k) for k, part in enumerate(zip(*values, strict=True))]

    def _scalar(self, each: Instruction, source: Type, result: Type, values: Sequence[Array], place: int) -> Array:
        with np.errstate(all="ignore"):
            fused = self._fused.get(each.name, {}).get(place)
            if fused is not None:
                return self._sum(each, values, *fused)
            if each.op in ("icmp", "fcmp"):
                return self._compare(each, source, values)
            if source.kind == "i" and result.kind == "i" and len(values) == 2:
                return self._integer(each.op, source.size, *values)
            if len(values) == 2:
                return _FLOAT[each.op](*values)
            if each.op == "fneg":
                return -values[0]
            return self._convert(each.op, source, result, values[0])

    def _sum(self, each: Instruction, values: Sequence[Array], product: Part, number: int) -> Array:
        made = next(one for block in self.function.blocks.values() for one in block if one.name == product[0])
        a, b = (self._read(*pair) for pair in made.operands)
        if product[1] >= 0:
            a, b = a[product[1]], b[product[1]]
        other = values[1 - number]
        self.fused += 1
        if each.op == "fsub":
            a, other = (-a, other) if number else (a, -other)
        return multiply_add(a, b, other)

    def _compare(self, each: Instruction, source: Type, values: Sequence[Array]) -> Array:
        rule = each.flags["rule"]
        a, b = values
        if each.op == "icmp":
            if rule[0] == "s":
                a, b = signed(source.size, a), signed(source.size, b)
            result: Array = _RULES[rule.lstrip("su") if rule not in ("eq", "ne") else rule](a, b).astype(np.uint8)
            return result
        unordered = np.isnan(a) | np.isnan(b)
        if rule in ("ord", "uno"):
            return np.asarray(unordered == (rule == "uno"), np.uint8)
        found = _RULES[rule[1:]](a, b)
        return (found | unordered if rule[0] == "u" else found & ~unordered).astype(np.uint8)

    def _integer(self, op: str, bits: int, a: Array, b: Array) -> Array:
        if op in ("sdiv", "srem"):
            x, y = signed(bits, a), signed(bits, b)
            quotient = np.abs(x) // np.maximum(np.abs(y), 1) * np.sign(x) * np.sign(y)
            return cut(bits, (quotient if op == "sdiv" else x - quotient * y).astype(a.dtype))
        if op == "ashr":
            return cut(bits, (signed(bits, a) >> b.astype(np.int64)).astype(a.dtype))
        if op in ("udiv", "urem"):
            return (a // np.maximum(b, 1)) if op == "udiv" else a % np.maximum(b, 1)
        return cut(bits, _INTEGER[op](a, b))

    def _convert(self, op: str, source: Type, result: Type, value: Array) -> Array:
        dtype = dtype_of(result)
        if op == "sext":
            return cut(result.size, signed(source.size, value).astype(dtype))
        if op in ("zext", "trunc", "ptrtoint", "inttoptr", "addrspacecast"):
            return cut(min(result.size, 64), value.astype(dtype))
        if op in ("sitofp", "uitofp"):
            return (signed(source.size, value) if op == "sitofp" else value).astype(dtype)
        if op in ("fptosi", "fptoui"):
            return cut(result.size, np.trunc(value.astype(np.float64)).astype(np.int64).astype(dtype))
        return value.astype(dtype)

    def _cast_bits(self, source: Type, value: Any, result: Type) -> Any:
        return self.unpack(self.pack(source, value), result)

    # --- bits ---

    def pack(self, type_: Type, value: Any) -> Array:
        """Return the bytes of a value, [threads, bytes]."""
        if isinstance(value, list):
            inner = type_.inner[0]
            if inner == Type("i", 1):
                bits = np.stack(value, axis=1)
                return np.packbits(bits, axis=1, bitorder="little")
            return np.concatenate([self.pack(inner, each) for each in value], axis=1)
        return np.ascontiguousarray(value).view(np.uint8).reshape(self.threads, -1)[:, : type_.bytes]

    def unpack(self, data: Array, type_: Type) -> Any:
        """Return the value that bytes hold."""
        if type_.kind in "va":
            size = type_.inner[0].bytes
            if type_.inner[0] == Type("i", 1):
                return [data[:, k // 8] >> (k % 8) & 1 for k in range(type_.size)]
            return [self.unpack(data[:, k * size : (k + 1) * size], type_.inner[0]) for k in range(type_.size)]
        return np.ascontiguousarray(data[:, : type_.bytes]).view(dtype_of(type_)).reshape(self.threads)

    # --- memory ---

    def _where(self, pointer: Type, address: Array, size: int, active: Array) -> tuple[Array, Array]:
        """Return the bytes of a memory, and the places that threads access: [threads, bytes]."""
        memory, base = (self.shared, 0) if pointer.name == "3" else (self.memory, self.BASE)
        places = address.astype(np.int64)[:, None] - base + np.arange(size)
        inside = (places >= 0) & (places < len(memory))
        assert inside[active].all(), f"outside of the memory: {address[active & ~inside.all(axis=1)][:4]}"
        return memory, np.where(inside, places, 0)

    def load(self, pointer: Type, address: Array, type_: Type, active: Array | None = None) -> Any:
        """Return what threads load."""
        memory, places = self._where(pointer, address, type_.bytes, self._active if active is None else active)
        return self.unpack(memory[places], type_)

    def store(self, pointer: Type, address: Array, type_: Type, value: Any, active: Array | None = None) -> None:
        """Store a value, the first thread last: of several that store to one place, it is the one that counts."""
        active = self._active if active is None else active
        data = self.pack(type_, value)
        memory, places = self._where(pointer, address, data.shape[1], active)
        memory[places[active][::-1]] = data[active][::-1]

    def _atomic(
        self, pointer: Type, address: Array, type_: Type, value: Array, rule: str, active: Array | None = None
    ) -> Array:
        active = self._active if active is None else active
        old = np.zeros(self.threads, value.dtype)
        memory, places = self._where(pointer, address, type_.bytes, active)
        for thread in np.nonzero(active)[0]:
            cell = memory[places[thread]].view(value.dtype)
            old[thread] = cell[0]
            memory[places[thread]] = self._combined(rule, type_.size, cell, value[thread : thread + 1]).view(np.uint8)
        return old

    def _combined(self, rule: str, bits: int, a: Array, b: Array) -> Array:
        if rule in ("min", "max"):
            first = (signed(bits, a) < signed(bits, b)) == (rule == "min")
            return np.where(first, a, b)
        if rule in ("umin", "umax"):
            return (np.minimum if rule == "umin" else np.maximum)(a, b)
        if rule in ("exch", "xchg"):
            return b
        if rule == "fadd":
            return a + b
        return _INTEGER[rule](a, b)

    # --- calls ---

    def _check_whole(self) -> None:
        """Raise AssertionError if threads are elsewhere at a barrier."""
        assert self._active.all(), "a barrier that not all threads reach"

    def _call(self, each: Instruction) -> Any:
        name = each.flags["callee"]
        values = [self._read(*pair) for pair in each.operands]
        for start, method in _CALLS.items():
            if name.startswith(start):
                return method(self, each, name, values)
        raise NotImplementedError(name)

    def take(self, value: Array, lanes: Array) -> Array:
        """Return what other lanes of the same warp hold."""
        return value[self.warp * self.lanes + lanes]

    @property
    def first_active(self) -> Array:
        """The first lane that runs of the warp of each thread."""
        return np.repeat(self._active.reshape(-1, self.lanes).argmax(axis=1), self.lanes)

    def _shuffle(self, each: Instruction, name: str, values: Sequence[Any]) -> Array:
        _, value, step, clamp = values
        lane = self.lane
        kind = name.split(".")[4]
        if kind == "bfly":
            source = lane ^ step.astype(np.intp)
        elif kind == "up":
            source = np.where(
                lane - step.astype(np.intp) >= (clamp & 31).astype(np.intp), lane - step.astype(np.intp), lane
            )
        elif kind == "down":
            source = np.where(lane + step.astype(np.intp) > 31, lane, lane + step.astype(np.intp))
        else:
            source = (step & 31).astype(np.intp)
        return self.take(value, source)

    def _dpp(self, each: Instruction, name: str, values: Sequence[Any]) -> Array:
        old, value = values[:2]
        control, rows, banks, bound = (int(each[0]) for each in values[2:])
        lane, row = self.lane, self.lane // 16
        inside = np.ones(self.threads, bool)
        if control < 0x100:
            source = lane & ~3 | control >> 2 * (lane & 3) & 3
        elif control < 0x110:
            source, inside = lane + (control & 15), lane % 16 + (control & 15) < 16
        elif control < 0x120:
            source, inside = lane - (control & 15), lane % 16 >= (control & 15)
        elif control < 0x130:
            source = row * 16 + (lane - (control & 15)) % 16
        elif control in (0x130, 0x138):
            source = lane + (1 if control == 0x130 else -1)
            inside = (source >= 0) & (source < self.lanes)
        elif control in (0x140, 0x141):
            source = lane ^ (15 if control == 0x140 else 7)
        elif control == 0x142:
            source, inside = row * 16 - 1, row > 0
        elif control == 0x143:
            source, inside = np.full(self.threads, 31), lane > 31
        else:
            raise NotImplementedError(f"dpp {control:#x}")
        found = self.take(value, np.clip(source, 0, self.lanes - 1))
        written = (rows >> row & 1 & (banks >> lane % 16 // 4)) != 0
        empty = np.zeros_like(value) if bound else old
        return np.where(written, np.where(inside, found, empty), old)

    def _redux(self, each: Instruction, name: str, values: Sequence[Any]) -> Array:
        rule = name.split(".")[4]
        rows = values[0].reshape(-1, self.lanes)
        found = rows[:, :1]
        for lane in range(1, self.lanes):
            found = self._combined(rule, 32, found, rows[:, lane : lane + 1])
        return np.repeat(found[:, 0], self.lanes)

    def _ldmatrix(self, each: Instruction, name: str, values: Sequence[Any]) -> Any:
        count = int(name.split(".x")[1][0])
        words = []
        shared = Type("p", 64, (), "3")
        for matrix in range(count):
            rows = self.take(values[0], matrix * 8 + np.arange(self.threads) % self.lanes // 4)
            if ".trans." in name:
                halves = []
                for half in (0, 1):
                    row = self.lane % 4 * 2 + half
                    address = self.take(values[0], matrix * 8 + row) + (self.lane // 4 * 2).astype(np.uint64)
                    halves.append(self.load(shared, address, Type("i", 16)).astype(np.uint32))
                words.append(halves[0] | halves[1] << np.uint32(16))
            else:
                words.append(self.load(shared, rows + (self.lane % 4 * 4).astype(np.uint64), Type("i", 32)))
        return words if count > 1 else words[0]

    def _stmatrix(self, each: Instruction, name: str, values: Sequence[Any]) -> None:
        shared = Type("p", 64, (), "3")
        for matrix, word in enumerate(values[1:]):
            if ".trans." in name:
                for half in (0, 1):
                    address = self.take(values[0], matrix * 8 + self.lane % 4 * 2 + half) + (self.lane // 4 * 2).astype(
                        np.uint64
                    )
                    self.store(shared, address, Type("i", 16), (word >> np.uint32(16 * half)).astype(np.uint16))
            else:
                address = self.take(values[0], matrix * 8 + self.lane // 4) + (self.lane % 4 * 4).astype(np.uint64)
                self.store(shared, address, Type("i", 32), word)

    def _buffer_load(self, each: Instruction, name: str, values: Sequence[Any]) -> Any:
        base, offset, more, _ = values
        inside = offset < 0x7FFFFFFE
        address = base + np.where(inside, offset, 0).astype(np.uint64) + more.astype(np.uint64)
        found = self.load(Type("p", 64), np.where(inside, address, self.BASE), each.type, self._active & inside)
        zero = self._read(each.type, Constant("zeroinitializer"))
        return self._merged(inside, found, zero)

    def _buffer_store(self, each: Instruction, name: str, values: Sequence[Any]) -> None:
        value, base, offset, more, _ = values
        inside = offset < 0x7FFFFFFE
        address = base + np.where(inside, offset, 0).astype(np.uint64) + more.astype(np.uint64)
        self.store(Type("p", 64), address, each.operands[0][0], value, self._active & inside)

    def _buffer_atomic(self, each: Instruction, name: str, values: Sequence[Any]) -> Array:
        value, base, offset, more, _ = values
        inside = offset < 0x7FFFFFFE
        address = base + np.where(inside, offset, 0).astype(np.uint64) + more.astype(np.uint64)
        rule = {"smax": "max", "smin": "min"}.get(name.split(".")[6], name.split(".")[6])
        return self._atomic(Type("p", 64), address, each.type, value, rule, self._active & inside)

    def _permute(self, each: Instruction, name: str, values: Sequence[Any]) -> Array:
        return self.take(values[1], (values[0] // 4 % self.lanes).astype(np.intp))

    def _pushed(self, each: Instruction, name: str, values: Sequence[Any]) -> Array:
        found: Array = np.zeros_like(values[1])
        places = self.warp * self.lanes + (values[0] // 4 % self.lanes).astype(np.intp)
        found[places[self._active]] = values[1][self._active]
        return found

    def _ballot(self, each: Instruction, name: str, values: Sequence[Any]) -> Array:
        bits = (values[-1] != 0) & self._active
        words = bits.reshape(-1, self.lanes).astype(np.uint64) << np.arange(self.lanes, dtype=np.uint64)
        return np.repeat(np.bitwise_or.reduce(words, axis=1), self.lanes).astype(dtype_of(each.type))

    def _lanes_below(self, each: Instruction, name: str, values: Sequence[Any]) -> Array:
        first = 32 if name.endswith("hi") else 0
        below = (np.uint64(1) << np.clip(self.lane - first, 0, 32).astype(np.uint64)) - np.uint64(1)
        held = (values[0].astype(np.uint64) & below).view(np.uint8).reshape(self.threads, 8)
        counted: Array = np.unpackbits(held, axis=1).sum(axis=1).astype(np.uint32) + values[1]
        return counted

    def _prmt(self, each: Instruction, name: str, values: Sequence[Any]) -> Array:
        first, second, chosen = values
        whole = first.astype(np.uint64) | second.astype(np.uint64) << np.uint64(32)
        found = np.zeros(self.threads, np.uint32)
        for place in range(4):
            number = chosen >> np.uint32(4 * place) & np.uint32(15)
            assert (number < 8).all()
            byte = whole >> number.astype(np.uint64) * np.uint64(8) & np.uint64(255)
            found |= byte.astype(np.uint32) << np.uint32(8 * place)
        return found

    def _bytes_permuted(self, each: Instruction, name: str, values: Sequence[Any]) -> Array:
        first, second, chosen = values
        whole = second.astype(np.uint64) | first.astype(np.uint64) << np.uint64(32)
        found = np.zeros(self.threads, np.uint32)
        for place in range(4):
            number = chosen >> np.uint32(8 * place) & np.uint32(255)
            assert (number < 8).all() or (number[number >= 8] == 12).all()
            byte = whole >> (number & 7).astype(np.uint64) * np.uint64(8) & np.uint64(255)
            found |= np.where(number < 8, byte, 0).astype(np.uint32) << np.uint32(8 * place)
        return found

    # --- assembly ---

    def _assembly(self, each: Instruction) -> Any:
        outputs = [part for part in each.flags["constraints"].split(",") if part.startswith("=")]
        slots: list[Any] = [None] * len(outputs)
        slots += [
            np.ascontiguousarray(self._read(*pair)).view(code_type(dtype_of(pair[0]).itemsize * 8))
            if pair[0].kind != "v"
            else self.unpack(self.pack(pair[0], self._read(*pair)), Type("i", pair[0].bytes * 8))
            for pair in each.operands
        ]
        for number, part in enumerate(each.flags["constraints"].split(",")):
            if part.isdigit():  # the register of an output
                slots[int(part)] = slots[number]
        sizes = {"h": 16, "r": 32, "l": 64, "f": 32, "d": 64, "c": 16}
        for text in re.sub(r"//[^\n]*", "", each.flags["text"]).replace("{ ", "{").split(";"):
            if text.strip(" \n{}"):
                self._ptx(text.strip(), slots, [sizes[part[-1]] for part in outputs])
        types = each.type.inner if each.type.kind == "s" else (each.type,) if outputs else ()
        made = [
            self.unpack(self.pack(Type("i", 8 * slot.dtype.itemsize), slot), type_)
            for type_, slot in zip(types, slots[: len(outputs)], strict=True)
        ]
        return made if each.type.kind == "s" else made[0] if made else None

    def _ptx(self, text: str, slots: list[Any], sizes: Sequence[int]) -> None:
        active, text = self._active, re.sub(r"^\{\s+", "", text)
        if text[0] == "@":
            guard, text = text.split(None, 1)
            negated = guard[1] == "!"
            active = active & ((slots[int(guard.lstrip("@!$"))] != 0) != negated)
        op, _, rest = text.partition(" ")
        parts = op.split(".")
        groups = [
            re.findall(r"[^\s,+{}\[\]]+", group) for group in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,{}\[\]\s]+", rest)
        ]
        place = next(
            (k for k, group in enumerate(re.findall(r"[{\[][^}\]]*[}\]]|[^,{}\[\]\s]+", rest)) if group[0] == "["), 0
        )

        def read(word: str, bits: int) -> Array:
            value = slots[int(word[1:])] if word[0] == "$" else np.full(self.threads, int(word, 0))
            return np.asarray(value).astype(code_type(bits))

        def write(word: str, value: Array) -> None:
            number = int(word[1:])
            value = value.astype(code_type(sizes[number]))
            slots[number] = value if slots[number] is None else np.where(active, value, slots[number])

        def address(step: int = 0) -> Array:
            base, *more = groups[place]
            return read(base, 64) + np.uint64(step + sum(map(int, more)))

        pointer = pointer_of("3" if "shared" in op else "1")
        if parts[0] == "mov":
            write(groups[0][0], read(groups[1][0], 64))
        elif parts[0] in ("ld", "st"):
            bits = int(parts[-1][1:])
            for k, word in enumerate(groups[0 if parts[0] == "ld" else 1]):
                at, type_ = address(k * bits // 8), Type("i", bits)
                if parts[0] == "st":
                    self.store(pointer, at, type_, read(word, bits), active)
                else:
                    write(word, self.load(pointer, np.where(active, at, self.BASE), type_, active))
        elif parts[0] in ("atom", "red"):
            rule, bits = next(part for part in parts if part in _ATOMS), int(parts[-1][1:])
            rule = f"u{rule}" if rule in ("min", "max") and parts[-1][0] == "u" else rule
            value = read(groups[place + 1][0], bits)
            if parts[-1][0] == "f":
                rule, value = f"f{rule}", value.view(f"f{bits // 8}")
            old = self._atomic(pointer, address(), Type("i", bits), value, rule, active)
            if place:
                write(groups[0][0], old)
        elif op.startswith("cp.async.c"):
            # The copy is made at once. Of its bytes, those from the number in the last operand on are 0.
            kept = read(groups[3][0], 32) if len(groups) > 3 else np.full(self.threads, 16)
            for step in range(0, int(groups[2][0], 0), 4):
                start, first = (read(group[0], 64) + np.uint64(step + int(group[-1])) for group in groups[:2])
                there = active & (kept > step)
                value = self.load(pointer_of("1"), np.where(there, first, self.BASE), Type("i", 32), there)
                self.store(pointer_of("3"), start, Type("i", 32), np.where(there, value, 0).astype(np.uint32), active)
        elif op in ("cvt.rn.bf16.f16", "cvt.rn.f16.bf16"):
            source, result = (DTYPES[name] for name in reversed(parts[2:]))
            wide = read(groups[1][0], 16).view(source).astype(np.float32)
            with np.errstate(all="ignore"):
                write(groups[0][0], wide.astype(result).view(np.uint16))
        elif op == "cvt.rna.tf32.f32":  # half away from zero
            word = read(groups[1][0], 32)
            finite = word & 0x7F800000 != 0x7F800000
            write(groups[0][0], np.where(finite, word + np.uint32(0x1000) & np.uint32(0xFFFFE000), word))
        elif parts[0] == "cvt" and ("e4m3x2" in parts or "e5m2x2" in parts):
            warp_units.convert_pairs(parts, groups, read, write)
        elif op.startswith("mma.sync"):
            warp_units.mma(self, op, groups, read, write)
        elif op.startswith("wgmma.mma"):
            warp_units.wgmma(self, op, groups, read, write)
        elif op.startswith("wgmma.wait"):
            for number in range(len(sizes)):
                write(f"${number}", slots[len(sizes) + number])
        else:
            raise NotImplementedError(text)


def pointer_of(space: str) -> Type:
    """Return the type of pointers into a space."""
    return Type("p", 64, (), space)


_ATOMS = ("add", "and", "or", "xor", "min", "max", "exch")


def _larger(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where((a > b) | (a == b) & ~np.signbit(a), a, b)))


def _smaller(a: Array, b: Array) -> Array:
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where((a < b) | (a == b) & np.signbit(a), a, b)))


_FLOAT: dict[str, Callable[[Array, Array], Array]] = {
    "fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide, "maxnum": _larger, "minnum": _smaller,
}  # fmt: skip
_INTEGER: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "shl": np.left_shift, "lshr": np.right_shift,
}  # fmt: skip
_RULES: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal,
}  # fmt: skip


def _by_element(function: Callable[..., Array]) -> Callable[..., Any]:
    """Return the method of an intrinsic that works element by element."""

    def call(machine: Machine, each: Instruction, name: str, values: Sequence[Any]) -> Any:
        with np.errstate(all="ignore"):
            if isinstance(values[0], list):
                held = [each if isinstance(each, list) else [each] * len(values[0]) for each in values]
                return [function(*part) for part in zip(*held, strict=True)]
            return function(*values)

    return call


def _smaller_magnitude(a: Array, b: Array) -> Array:
    """Return the smaller magnitude, with the exclusive or of the signs."""
    smaller = _smaller(np.abs(a), np.abs(b))
    return np.where(np.signbit(a) != np.signbit(b), -smaller, smaller).astype(a.dtype)


def _constant(value: int) -> Callable[..., Array]:
    return lambda machine, each, name, values: np.full(machine.threads, value, np.uint32)


def _signed_choice(rule: str) -> Callable[[Array, Array], Array]:
    def choose(a: Array, b: Array) -> Array:
        bits = 8 * a.dtype.itemsize
        return np.where((signed(bits, a) < signed(bits, b)) == (rule == "min"), a, b)

    return choose


def _absolute(value: Array, *_: Array) -> Array:
    number = signed(8 * value.dtype.itemsize, value)
    return np.abs(number).astype(value.dtype)


def _reduced(machine: Machine, each: Instruction, name: str, values: Sequence[Any]) -> Any:
    rule = name.split(".")[3]
    functions: dict[str, Callable[[Array, Array], Array]] = {
        "smin": _signed_choice("min"), "smax": _signed_choice("max"), "umin": np.minimum, "umax": np.maximum,
        "fmax": _larger, "fmin": _smaller, **_INTEGER,
    }  # fmt: skip
    return reduce(functions[rule], values[0])


def _reversed_bits(machine: Machine, each: Instruction, name: str, values: Sequence[Any]) -> Array:
    bits = each.type.size
    found: Array = np.zeros_like(values[0])
    for place in range(bits):
        found |= (values[0] >> values[0].dtype.type(place) & 1) << values[0].dtype.type(bits - 1 - place)
    return found


_CALLS: dict[str, Callable[..., Any]] = {
    "llvm.nvvm.read.ptx.sreg.tid.x": lambda m, *_: np.arange(m.threads, dtype=np.uint32),
    "llvm.nvvm.read.ptx.sreg.ctaid": _constant(0),
    "llvm.amdgcn.workitem.id.x": lambda m, *_: np.arange(m.threads, dtype=np.uint32),
    "llvm.amdgcn.workgroup.id": _constant(0),
    "llvm.nvvm.barrier": lambda m, *_: m._check_whole(),
    "llvm.amdgcn.s.barrier": lambda m, *_: m._check_whole(),
    "llvm.nvvm.bar.warp.sync": lambda *_: None,
    "llvm.amdgcn.wave.barrier": lambda *_: None,
    "llvm.amdgcn.sched": lambda *_: None,
    "llvm.amdgcn.s.setprio": lambda *_: None,
    "llvm.amdgcn.s.setreg": lambda *_: None,  # conversions saturate, as the software around them asks for
    "llvm.assume": lambda *_: None,
    "llvm.lifetime": lambda *_: None,
    "__nvvm_reflect": _constant(0),
    "llvm.nvvm.shfl.sync": Machine._shuffle,
    "llvm.nvvm.redux.sync": Machine._redux,
    "llvm.nvvm.ldmatrix": Machine._ldmatrix,
    "llvm.nvvm.stmatrix": Machine._stmatrix,
    "llvm.amdgcn.update.dpp": Machine._dpp,
    "llvm.amdgcn.ds.bpermute": Machine._permute,
    "llvm.amdgcn.perm": Machine._bytes_permuted,
    "llvm.amdgcn.ballot": Machine._ballot,
    "llvm.nvvm.vote.ballot": Machine._ballot,
    "llvm.amdgcn.mbcnt": Machine._lanes_below,
    "llvm.ctpop": _by_element(
        lambda a: np.unpackbits(a.view(np.uint8).reshape(len(a), -1), axis=1).sum(axis=1).astype(a.dtype)
    ),
    "llvm.nvvm.prmt": Machine._prmt,
    "llvm.amdgcn.mfma": lambda m, e, n, v: warp_units.mfma(m, e, n, v),
    "llvm.amdgcn.readfirstlane": lambda m, e, n, v: m.take(v[0], m.first_active),
    "llvm.amdgcn.readlane": lambda m, e, n, v: m.take(v[0], v[1].astype(np.intp)),
    "llvm.amdgcn.make.buffer.rsrc": lambda m, e, n, v: v[0],
    "llvm.amdgcn.raw.ptr.buffer.load": Machine._buffer_load,
    "llvm.amdgcn.raw.ptr.buffer.store": Machine._buffer_store,
    "llvm.amdgcn.raw.ptr.buffer.atomic": Machine._buffer_atomic,
    "llvm.fabs": _by_element(np.abs),
    "llvm.sqrt": _by_element(np.sqrt),
    "llvm.nvvm.sqrt.rn": _by_element(np.sqrt),
    "llvm.nvvm.div.rn": _by_element(np.divide),
    "llvm.nvvm.div.approx": _by_element(np.divide),  # of constants only: ptxas folds it so
    "llvm.floor": _by_element(np.floor),
    "llvm.nvvm.floor": _by_element(np.floor),
    "llvm.nvvm.fmin.xorsign.abs": _by_element(_smaller_magnitude),
    "llvm.maxnum": _by_element(_larger),
    "llvm.minnum": _by_element(_smaller),
    "llvm.fma.": _by_element(multiply_add),
    "llvm.fmuladd": _by_element(multiply_add),
    "llvm.smax": _by_element(_signed_choice("max")),
    "llvm.smin": _by_element(_signed_choice("min")),
    "llvm.umax": _by_element(np.maximum),
    "llvm.umin": _by_element(np.minimum),
    "llvm.usub.sat": _by_element(lambda a, b: np.where(a > b, a - b, 0).astype(a.dtype)),
    "llvm.abs": _by_element(_absolute),
    "llvm.bitreverse": _reversed_bits,
    "llvm.canonicalize": _by_element(lambda a: a),
    "llvm.nvvm.fence": lambda *_: None,
    "llvm.nvvm.cp.async": lambda *_: None,  # the group of a copy, which is made at once
    "llvm.nvvm.wgmma": lambda *_: None,
    "llvm.amdgcn.fmed3": _by_element(lambda a, b, c: _larger(_smaller(_larger(a, b), c), _smaller(a, b))),
    "llvm.vector.reduce.fadd": lambda m, e, n, v: reduce(np.add, v[1], v[0]),
    "llvm.vector.reduce.fmul": lambda m, e, n, v: reduce(np.multiply, v[1], v[0]),
    "llvm.vector.reduce.": _reduced,
    "llvm.amdgcn.ds.permute": Machine._pushed,
    "llvm.fshl": _by_element(
        lambda a, b, s: a << s % 32 | np.where(s % 32 == 0, 0, b >> (32 - s % 32) % 32).astype(a.dtype)
    ),
}
