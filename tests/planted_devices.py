"""Devices with a planted fault, made without the code that looks for faults: NumPy, fractions, and whole computations.

Each function that plants a fault takes a random generator, ``dice``. It gives a computation, the outputs of the faulty device
for some inputs, and the words with which `vectors check` must name the fault first.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from command import PATIENCE
from tree import ROOT

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.c_parts import CModel
from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, storage_dtype
from halfulp.semantics.profile import Profile, as_profile

Dice = np.random.Generator


@dataclass(frozen=True)
class Plant:
    """``rows``: the true rows. ``outputs``: what the device prints in place of the outputs. ``name``: the diagnosis.

    ``alone``: the device prints its results and flags only.
    """

    computation: OpComputation
    rows: Chunk
    outputs: Chunk
    name: str
    alone: bool = False


ARITHMETIC = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf")
NARROW = ("f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f6E3M2FN")
WIDE = ("f16", "bf16", "f32", "f64")


def pick(dice: Dice, things: tuple[Any, ...]) -> Any:
    return things[int(dice.integers(len(things)))]


def some_op(dice: Dice, types: tuple[str, ...] = NARROW + WIDE, ops: tuple[str, ...] = ARITHMETIC) -> OpComputation:
    return OpComputation(op_case(pick(dice, ops), pick(dice, types)))


def some_rows(dice: Dice, computation: OpComputation) -> Chunk:
    level = pick(dice, ("1", "random", "2"))
    recipe = Recipe(computation, level, seed=int(dice.integers(1 << 30)), count=int(dice.integers(600, 4000)))
    return recipe.vectors().gather()


def split(computation: Computation, rows: Chunk) -> tuple[Chunk, Chunk]:
    return rows[: len(computation.inputs)], rows[len(computation.inputs) :]


def place(computation: OpComputation, role: Role) -> int:
    return next(k for k, column in enumerate(computation.outputs) if column.role is role)


def put(outputs: Chunk, at: int, codes: Any) -> Chunk:
    return tuple(codes.astype(own.dtype) if k == at else own for k, own in enumerate(outputs))


# --- alignment --------------------------------------------------------------------------------------------------------


def late(dice: Dice) -> Plant:
    computation = some_op(dice)
    rows = some_rows(dice, computation)
    _, outputs = split(computation, rows)
    by = int(dice.integers(1, 5))
    rolled = tuple(np.concatenate([np.zeros_like(codes[:by]), codes[:-by]]) for codes in outputs)
    name = f"results {by} row{'s' if by > 1 else ''} late"
    return Plant(computation, rows, rolled, name, alone=True)


def dropped(dice: Dice) -> Plant:
    computation = some_op(dice)
    rows = some_rows(dice, computation)
    _, outputs = split(computation, rows)
    at = int(dice.integers(1, len(rows[0]) - 100))
    return Plant(
        computation, rows, tuple(np.delete(c, at, axis=0) for c in outputs), "results 1 row early from row", True
    )


def doubled(dice: Dice) -> Plant:
    computation = some_op(dice)
    rows = some_rows(dice, computation)
    _, outputs = split(computation, rows)
    at = int(dice.integers(1, len(rows[0]) - 100))
    twice = tuple(np.insert(c, at, c[at], axis=0)[:-1] for c in outputs)
    return Plant(computation, rows, twice, "results 1 row late from row", True)


# --- encodings --------------------------------------------------------------------------------------------------------


def byte_swapped(dice: Dice) -> Plant:
    computation = some_op(dice, WIDE)
    rows = some_rows(dice, computation)
    _, outputs = split(computation, rows)
    return Plant(
        computation, rows, put(outputs, 0, outputs[0].byteswap()), "results with their bytes in the other order"
    )


def flags_reversed(dice: Dice) -> Plant:
    computation = some_op(dice)
    rows = some_rows(dice, computation)
    _, outputs = split(computation, rows)
    at = place(computation, Role.FLAGS)
    table = np.array([int(f"{code:05b}"[::-1], 2) for code in range(32)], np.uint8)
    return Plant(computation, rows, put(outputs, at, table[outputs[at]]), "flags with their bits in the other order")


def stuck(dice: Dice) -> Plant:
    computation = some_op(dice)
    rows = some_rows(dice, computation)
    _, outputs = split(computation, rows)
    bit, value = int(dice.integers(computation.outputs[0].width)), int(dice.integers(2))
    mask = outputs[0].dtype.type(1 << bit)
    made = outputs[0] | mask if value else outputs[0] & ~mask
    return Plant(computation, rows, put(outputs, 0, made), f"bit {bit} of the result stuck at {value}")


def flag_stuck(dice: Dice) -> Plant:
    computation = some_op(dice)
    rows = some_rows(dice, computation)
    _, outputs = split(computation, rows)
    at, (bit, name) = place(computation, Role.FLAGS), pick(dice, ((0, "inexact"), (1, "underflow"), (2, "overflow")))
    return Plant(
        computation, rows, put(outputs, at, outputs[at] & ~np.uint8(1 << bit)), f"the flag {name} never raised"
    )


def other_format(dice: Dice) -> Plant:
    """An op on codes of another format of 8 or 16 bits."""
    pairs = (
        ("f8E4M3FN", "f8E4M3FNUZ"), ("f8E4M3FN", "f8E5M2"), ("f8E4M3FN", "f8E4M3"), ("f8E5M2", "f8E5M2FNUZ"),
        ("f8E5M2", "f8E4M3FN"), ("f16", "bf16"), ("bf16", "f16"),
    )  # fmt: skip
    own, other = pick(dice, pairs)
    if dice.integers(2):
        computation = OpComputation(op_case("arith.truncf", "f32", own))
        device = OpComputation(op_case("arith.truncf", "f32", other))
    else:
        op = pick(dice, ARITHMETIC)
        computation, device = OpComputation(op_case(op, own)), OpComputation(op_case(op, other))
    rows = some_rows(dice, computation)
    return Plant(computation, rows, device.compute(split(computation, rows)[0]).outputs, f"{other} in place of {own}")


# --- computations -----------------------------------------------------------------------------------------------------


def rounding(dice: Dice) -> Plant:
    computation = some_op(dice)
    mode = pick(dice, ("toward_zero", "upward", "downward", "to_nearest_away"))
    device = OpComputation(op_case(computation.case.op, computation.case.operands[0], rounding=mode))
    return of_device(dice, computation, device, f"rounding={mode}")


def of_device(dice: Dice, computation: OpComputation, device: OpComputation, name: str) -> Plant:
    rows = some_rows(dice, computation)
    return Plant(computation, rows, device.compute(split(computation, rows)[0]).outputs, name)


def tininess(dice: Dice) -> Plant:
    computation = some_op(dice, ops=("arith.mulf", "arith.divf"))
    return of_device(dice, computation, replace(computation, profile=Profile(tininess="before")), "tininess=before")


def flushed(dice: Dice) -> Plant:
    """Flushed results, half of the time with the flags of unflushed ones."""
    computation = some_op(dice)
    what = pick(dice, ("flush_results", "flush_operands", "flush_both"))
    plant = of_device(dice, computation, replace(computation, profile=Profile(denormals=what)), f"denormals={what}")
    if dice.integers(2):
        return plant
    at = place(computation, Role.FLAGS)
    right = split(computation, plant.rows)[1][at]
    if np.array_equal(plant.outputs[at], right):
        return plant
    return replace(plant, outputs=put(plant.outputs, at, right), name=f"{plant.name} with the expected flags")


def confused_flags(dice: Dice) -> Plant:
    """Overflow that is raised as invalid."""
    computation = some_op(dice)
    rows = some_rows(dice, computation)
    _, outputs = split(computation, rows)
    at = place(computation, Role.FLAGS)
    over = outputs[at] & 4 != 0
    made = np.where(over, outputs[at] & 0x1B | 0x10, outputs[at])
    return Plant(computation, rows, put(outputs, at, made), "the flag invalid in place of overflow")


def one_nan(dice: Dice) -> Plant:
    """Each NaN is the same, and each NaN operand raises invalid, a quiet one too."""
    computation = OpComputation(op_case(pick(dice, ("arith.addf", "arith.mulf")), "f8E4M3"), as_profile("riscv"))
    rows = Recipe(computation, "random", seed=int(dice.integers(1 << 30)), count=6000).vectors().gather()
    (a, b), (result, flags) = split(computation, rows)
    nan, other, right = (codes & 0x7F > 0x78 for codes in (a, b, result))
    code = int(dice.integers(0x79, 0x7C))
    made = np.where(right, code, result).astype(np.uint8), np.where(nan | other, flags | 0x10, flags).astype(np.uint8)
    return Plant(computation, rows, made, f"NaN always 0x{code:X} and the flag invalid for every NaN operand")


def underflow_by_the_result(dice: Dice) -> Plant:
    """Underflow is raised for the rounded result: not where a tiny number is rounded up to the smallest normal one."""
    target, smallest = pick(dice, (("f8E5M2", 0x04), ("f8E4M3", 0x08), ("f8E3M4", 0x10)))
    computation = OpComputation(op_case("arith.truncf", "f16", target))
    rows = Recipe(computation, "random", seed=int(dice.integers(1 << 30)), count=20_000).vectors().gather()
    _, (result, flags) = split(computation, rows)
    small = (result & 0x7F < smallest) & (flags & 1 != 0)
    made = flags & 0x1D | np.where(small, 2, 0)
    return Plant(computation, rows, (result, made.astype(np.uint8)), "underflow raised only where the rounded result")


def compared_before_rounding(dice: Dice) -> Plant:
    """A conversion to integers whose lower bound, or both, are compared with the operand as it is."""
    mode, both = pick(dice, ("toward_zero", "upward", "to_nearest_away")), bool(dice.integers(2))
    computation = OpComputation(op_case("fcvt_to_si", "f16", "i8", rounding=mode), as_profile("riscv"))
    rows = Recipe(computation, "exhaustive").vectors().gather()
    (codes,), (result, flags) = split(computation, rows)
    number = codes.view(np.float16).astype(np.float64)
    made = np.where(number < -128, 0x10, flags)
    name = "the lower bound compared before rounding"
    if both and (flags[number > 127] != 0x10).any():  # upward, what is above 127 is out of range anyway
        made, name = np.where(number > 127, 0x10, made), "both bounds compared before rounding"
    return Plant(computation, rows, (result, made.astype(np.uint8)), name)


def lost_carry(dice: Dice) -> Plant:
    """A negative number that rounds to -256 as an integer of 8 bits: 0, and no error."""
    mode = pick(dice, ("to_nearest_even", "downward"))
    computation = OpComputation(op_case("fcvt_to_ui", "f32", "i8", rounding=mode), as_profile("riscv"))
    recipe = Recipe(computation, "random", seed=int(dice.integers(1 << 30)), count=1000)
    (codes,), _ = split(computation, recipe.vectors().gather())
    codes[::50] = (-255 - dice.random(len(codes[::50]))).astype(np.float32).view(np.uint32)
    result, flags = computation.compute((codes,)).outputs
    number = codes.view(np.float32)
    with np.errstate(invalid="ignore"):
        rounded = np.floor(number) if mode == "downward" else np.round(number)
    lost = (rounded == -256) & (number > -256)
    outputs = np.where(lost, 0, result).astype(np.uint8), np.where(lost, 1, flags).astype(np.uint8)
    return Plant(computation, (codes, result, flags), outputs, "numbers that round to -2^8 taken as 0")


def saturated(dice: Dice) -> Plant:
    computation = some_op(dice, ("f8E5M2", "f8E4M3", "f16", "bf16", "f32"), ("arith.addf", "arith.mulf"))
    rows = some_rows(dice, computation)
    _, outputs = split(computation, rows)
    over = outputs[place(computation, Role.FLAGS)] & 4 != 0
    # The largest finite code stands before infinity, in either sign.
    return Plant(computation, rows, put(outputs, 0, outputs[0] - over), "arithmetic_overflow=saturate")


def saturated_integers(dice: Dice) -> Plant:
    width = pick(dice, (8, 16, 32))
    op, exact = pick(dice, (("arith.addi", np.add), ("arith.subi", np.subtract)))
    computation = OpComputation(op_case(op, f"i{width}"))
    rows = some_rows(dice, computation)
    a, b = (codes.view(f"i{width // 8}").astype(np.int64) for codes in rows[:2])
    made = np.clip(exact(a, b), -(1 << width - 1), (1 << width - 1) - 1).astype(f"i{width // 8}")
    return Plant(computation, rows, (made.view(f"u{width // 8}"), *rows[3:]), "saturation of signed integers")


def twice_rounded(dice: Dice) -> Plant:
    """A conversion through a format between, with the flags of both steps, or with the expected ones."""
    via, target = pick(dice, ("f16", "bf16")), pick(dice, ("f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4"))
    source = pick(dice, ("f32", "f64"))
    computation = OpComputation(op_case("arith.truncf", source, target))
    rows = some_rows(dice, computation)
    first = OpComputation(op_case("arith.truncf", source, via)).compute(rows[:1]).outputs
    second = OpComputation(op_case("arith.truncf", via, target)).compute(first[:1]).outputs
    name = f"double rounding through {via}"
    outputs = (second[0], first[1] | second[1])
    if dice.integers(2) and not np.array_equal(outputs[1], split(computation, rows)[1][1]):
        outputs, name = (second[0], split(computation, rows)[1][1]), f"{name} with the expected flags"
    return Plant(computation, rows, outputs, name)


def narrow_accumulator(dice: Dice) -> Plant:
    """A multiplier that drops the low bits of its product, or an adder that drops those of what it shifts."""
    computation = some_op(dice, ("f8E4M3", "f16", "bf16", "f32"), ("arith.addf", "arith.mulf"))
    rows = some_rows(dice, computation)
    return accumulated(computation, rows, FORMATS[computation.case.results[0]].precision + int(dice.integers(-3, 3)))


def accumulated(computation: OpComputation, rows: Chunk, bits: int) -> Plant:
    fmt = FORMATS[computation.case.results[0]]
    inputs, outputs = split(computation, rows)
    result, flags = outputs[0].copy(), outputs[1].copy()
    wide = OpComputation(op_case("arith.truncf", "f64", computation.case.results[0]))
    for row, (a, b) in enumerate(zip(*(codes.tolist() for codes in inputs), strict=True)):
        x, y = scalar.value(fmt, a), scalar.value(fmt, b)
        if x is None or y is None:
            continue
        parts = [x * y] if computation.case.op == "arith.mulf" else [x, y]
        lead = max((exponent_of(part) for part in parts if part), default=None)
        if lead is None:
            continue
        unit = Fraction(2) ** (lead - bits + 1)
        cut = [(part / unit).__trunc__() * unit for part in parts]
        if cut != parts:
            # 53 bits hold the sum: a double is exact.
            total = sum(cut, Fraction(0))
            assert Fraction(float(total)) == total
            made = wide.compute((np.array([float(total)]).view(np.uint64),)).outputs
            result[row], flags[row] = made[0][0], made[1][0] | 1
    return Plant(
        computation, rows, (result, flags), f"an accumulator of {bits} bit{'s'[: bits > 1]} without a sticky bit"
    )


def exponent_of(number: Fraction) -> int:
    exponent = abs(number.numerator).bit_length() - number.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= abs(number) else exponent - 1


def adds_random_bits(dice: Dice) -> Plant:
    """Random bits added below the last place of a bf16, and the rest of the f32 cut off."""
    width = int(dice.integers(3, 9))
    computation = OpComputation(op_case("arith.truncf", "f32", "bf16"), random_bits=width)
    rows = some_rows(dice, computation)
    (codes, bits), outputs = split(computation, rows)
    finite = codes & 0x7F80_0000 != 0x7F80_0000
    made = codes + (bits.astype(np.uint32) << (16 - width)) >> 16
    return Plant(computation, rows, put(outputs, 0, np.where(finite, made, outputs[0])), "stochastic=p3109_a")


def other_random_rule(dice: Dice) -> Plant:
    """A rule that differs in one of 512 rows from the next one, or inverted bits."""
    computation = OpComputation(op_case("arith.truncf", "f16", "f8E5M2"), random_bits=int(dice.integers(2, 7)))
    field, value = pick(dice, (("stochastic", "p3109_b"), ("stochastic", "p3109_c"), ("stochastic_bits", "complement")))
    rows = Recipe(computation, "random", seed=int(dice.integers(1 << 30)), count=6000).vectors().gather()
    device = replace(computation, profile=Profile(**{field: value}))
    return Plant(computation, rows, device.compute(split(computation, rows)[0]).outputs, f"{field}={value}")


# --- two causes -------------------------------------------------------------------------------------------------------


def two(dice: Dice) -> Plant:
    """Another rounding and flushed subnormals."""
    computation = some_op(dice, ops=("arith.addf", "arith.mulf"))
    mode, what = pick(dice, ("toward_zero", "upward")), pick(dice, ("flush_results", "flush_both"))
    case = op_case(computation.case.op, computation.case.operands[0], rounding=mode)
    device = OpComputation(case, Profile(denormals=what))
    return of_device(dice, computation, device, f"rounding={mode} and denormals={what}")


def two_with_bytes(dice: Dice) -> Plant:
    """Another rounding, and bytes in the other order."""
    computation = some_op(dice, WIDE)
    device = OpComputation(op_case(computation.case.op, computation.case.operands[0], rounding="toward_zero"))
    plant = of_device(dice, computation, device, "rounding=toward_zero and results with their bytes in the other order")
    return replace(plant, outputs=put(plant.outputs, 0, plant.outputs[0].byteswap()))


PLANTS: tuple[Callable[[Dice], Plant], ...] = (
    late, dropped, doubled, byte_swapped, flags_reversed, stuck, flag_stuck, other_format, rounding, tininess, flushed,
    one_nan, confused_flags, underflow_by_the_result, compared_before_rounding, lost_carry, saturated, saturated_integers, twice_rounded, narrow_accumulator, adds_random_bits, other_random_rule, two,
    two_with_bytes,
)  # fmt: skip


# --- c models ---------------------------------------------------------------------------------------------------------
#
# Compile models in C, and run them on arrays of codes.

STRICT = ("cc", "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic")
"""A compiler that accepts nothing but C99, without any warning."""


def compiled(model: CModel, inputs: Sequence[Column], outputs: Sequence[Column], folder: Path) -> ctypes.CDLL:
    """Return a library with a function ``run`` that calls the model for each row of arrays."""
    (folder / f"{model.name}.c").write_text(model.source, encoding="utf-8")
    columns = [*inputs, *outputs]
    arrays = ", ".join(f"{storage_dtype(column.width).name}_t *{column.name}" for column in columns)
    given = ", ".join([f"{c.name}[k]" for c in inputs] + [f"&{c.name}[k]" for c in outputs])
    loop = f'#include "{model.name}.c"\nvoid run(long rows, {arrays});\nvoid run(long rows, {arrays})\n{{\n    long k;\n    for (k = 0; k < rows; k++)\n        {model.name}({given});\n}}\n'
    (folder / f"{model.name}_loop.c").write_text(loop, encoding="utf-8")
    library = folder / f"{model.name}.so"
    subprocess.run(
        [
            *STRICT,
            "-O1",
            "-fsanitize=undefined",
            "-fno-sanitize-recover",
            "-shared",
            "-fPIC",
            f"{model.name}_loop.c",
            "-o",
            library.name,
        ],
        cwd=folder,
        check=True,
    )
    return ctypes.CDLL(str(library))


def outputs_of(library: ctypes.CDLL, inputs: Chunk, outputs: Sequence[Column]) -> Chunk:
    """Return the outputs of a model for some rows."""
    made = tuple(np.zeros(len(inputs[0]), storage_dtype(column.width)) for column in outputs)
    arrays = [np.ascontiguousarray(codes) for codes in inputs] + list(made)
    library.run(ctypes.c_long(len(inputs[0])), *(ctypes.c_void_p(array.ctypes.data) for array in arrays))
    return made


# --- simulations ------------------------------------------------------------------------------------------------------
#
# Run benches of cocotb in Icarus Verilog, by the script of examples/cocotb.

EXAMPLE = ROOT / "examples" / "cocotb"


def simulated(
    folder: Path, unit: str, parameters: Mapping[str, str] | None = None, **environment: str
) -> tuple[str, int]:
    """Return the output of the bench test_UNIT.py of UNIT.sv in a folder, and the exit code of the script."""
    given = [f"{name}={value}" for name, value in (parameters or {}).items()]
    shutil.copy(EXAMPLE / "simulate.py", folder)
    done = subprocess.run(
        [sys.executable, "simulate.py", unit, *given],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout, done.returncode
