"""The profile `arm` beside the instructions of AArch64, as qemu's user emulation runs them: results and flags.

``tests/build_arm.sh FOLDER`` builds the program that runs them; ``HALFULP_ARM`` names the folder.
"""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts

from halfulp.conformance.comparing.op_case import op_case
from halfulp.fp_formats.formats import FORMATS, FloatFormat, storage_dtype
from halfulp.fp_formats.policy import Flags
from halfulp.semantics.profile import as_profile

pytestmark = pytest.mark.arm

Codes = npt.NDArray[Any]

FLOATS = {"h": "f16", "s": "f32", "d": "f64"}
INTEGERS = {"w": "i32", "x": "i64"}
MODES = {"to_nearest_even": 0b00, "upward": 0b01, "downward": 0b10, "toward_zero": 0b11}
"""The field RMode of FPCR, from bit 22 on."""
OWN_MODES = {
    "n": "to_nearest_even",
    "p": "upward",
    "m": "downward",
    "z": "toward_zero",
    "a": "to_nearest_away",
}
"""The letters of instructions that name their rounding."""
FPSR = {0: Flags.INVALID, 1: Flags.DIVIDE_BY_ZERO, 2: Flags.OVERFLOW, 3: Flags.UNDERFLOW, 4: Flags.INEXACT}
"""The bits IOC, DZC, OFC, UFC and IXC. IDC, of a flushed operand, is none of our flags."""
ALTERNATIVE = '!halfulp.float<"alternative", exponent = 5, mantissa = 10, bias = 15, finite, nan = none>'
"""Arm's alternative half precision, which has neither infinities nor NaNs."""
CHUNK = 1 << 17


@dataclass(frozen=True)
class Instruction:
    """An instruction as an op of ours. ``rounding``: its own; None: that of FPCR, or none at all (``rounds`` False).

    ``predicates``: one for each bit of the result, from bit 0 on; empty: the op gives the result.
    """

    name: str
    op: str
    types: tuple[str, ...]
    to: str | None = None
    rounding: str | None = None
    rounds: bool = True
    predicates: tuple[str, ...] = ()
    choices: str = ""

    @property
    def follows_fpcr(self) -> bool:
        return self.rounds and self.rounding is None

    @property
    def converts_half(self) -> bool:
        return self.op == "fcvt" and "f16" in (*self.types, self.to)

    @property
    def computes_f32(self) -> bool:
        """Tell whether the last operand is of f32, no other is one that FZ flushes, and the result is no other float."""
        return self.types[0] in ("f16", "f32") and self.types[-1] == "f32" and self.to in (None, "f32", "i32", "i64")

    def computed(self, operands: Sequence[Codes], mode: str, choices: str) -> tuple[Codes, Codes]:
        """Return our results, as uint64, and flags."""
        rounding = {"rounding": self.rounding or mode} if self.rounds else {}
        profile = as_profile(f"arm{self.choices}{choices}")
        result, flags = np.zeros(operands[0].shape, np.uint64), np.zeros(operands[0].shape, np.uint8)
        for place, given in enumerate([{"predicate": each} for each in self.predicates] or [{}]):
            case = op_case(self.op, self.types, self.to, **given, **rounding)
            codes = [x.astype(storage_dtype(bits)) for x, bits in zip(operands, case.operand_widths, strict=True)]
            kernel = case.kernel(operands[0].shape, profile)
            assert kernel.flags is not None
            outcome, flags = kernel.array(*codes), kernel.flags(*codes)
            assert not any(mask.any() for _, mask in outcome.faults)
            result |= outcome.results[0].astype(np.uint64) << np.uint64(place)
        return result, flags


NZCV = ("uno", "uge", "oeq", "olt")
"""The bits V, C, Z and N of a comparison."""


def instructions() -> Iterator[Instruction]:
    for t, own in FLOATS.items():
        for name in ("fadd", "fsub", "fmul", "fdiv"):
            yield Instruction(f"{name}_{t}", name, (own, own))
        yield Instruction(f"fsqrt_{t}", "math.sqrt", (own,))
        # RISC-V, whose names ours are, says what becomes of the product; Arm, what becomes of the addend first.
        for name, op in (("fmadd", "fmadd"), ("fmsub", "fnmsub"), ("fnmadd", "fnmadd"), ("fnmsub", "fmsub")):
            yield Instruction(f"{name}_{t}", op, (own, own, own))
        for name, op in (("fmin", "minimumf"), ("fmax", "maximumf"), ("fminnm", "minnumf"), ("fmaxnm", "maxnumf")):
            yield Instruction(f"{name}_{t}", f"arith.{op}", (own, own), rounds=False)
        for name, op in (("fcmp", "arith.cmpf"), ("fcmpe", "fcmps")):
            yield Instruction(f"{name}_{t}", op, (own, own), rounds=False, predicates=NZCV)
        for letter, rounding in OWN_MODES.items():
            yield Instruction(f"frint{letter}_{t}", "fround", (own,), rounding=rounding)
            for i, integer in INTEGERS.items():
                for sign in "su":
                    name, op = f"fcvt{letter}{sign}_{i}_{t}", f"fcvt_to_{sign}i"
                    yield Instruction(name, op, (own,), integer, rounding=rounding)
        yield Instruction(f"frinti_{t}", "fround", (own,))
        yield Instruction(f"frintx_{t}", "froundnx", (own,))
        for i, integer in INTEGERS.items():
            for sign in "su":
                yield Instruction(f"{sign}cvtf_{t}_{i}", f"fcvt_from_{sign}i", (integer,), own)
        for s, source in FLOATS.items():
            if s != t:
                yield Instruction(f"fcvt_{t}_{s}", "fcvt", (source,), own)
    yield Instruction("bfcvt_h_s", "fcvt", ("f32",), "bf16")
    yield Instruction("fcvtxn_s_d", "fcvt", ("f64",), "f32", rounding="to_odd")
    truncated = Instruction("fjcvtzs_w_d", "fcvt_to_si", ("f64",), "i32", rounding="toward_zero")
    yield replace(truncated, choices=",float_to_int=modular")
    for name, op, narrow in (("fmlal", "fmadd", "f16"), ("fmlsl", "fnmsub", "f16"), ("bfmlalb", "fmadd", "bf16")):
        yield Instruction(f"{name}_h", op, (narrow, narrow, "f32"), "f32")


@dataclass(frozen=True)
class Control:
    """A setting of FPCR, beside RMode, and the profile that has its results. ``covers``: the instructions for which it
    does. ``flags``: Arm's flags in place of ours, wherever we raise all of these.
    """

    fpcr: int
    choices: str = ""
    covers: Callable[[Instruction], bool] = lambda instruction: True
    flags: Mapping[Flags, Flags] = field(default_factory=dict, hash=False)

    def instruction(self, instruction: Instruction) -> Instruction:
        """Return an instruction with the types that it has under this setting."""
        if not self.fpcr & AHP:
            return instruction
        types = tuple(ALTERNATIVE if name == "f16" else name for name in instruction.types)
        return replace(instruction, types=types, to=ALTERNATIVE if instruction.to == "f16" else instruction.to)

    def raised(self, flags: Codes) -> Codes:
        """Return Arm's flags for ours."""
        for ours, arms in self.flags.items():
            flags = np.where(flags & ours == ours, np.uint8(arms), flags)
        return flags


FZ16, FZ, DN, AHP = 1 << 19, 1 << 24, 1 << 25, 1 << 26
FLUSHED = {Flags.UNDERFLOW | Flags.INEXACT: Flags.UNDERFLOW}
CONTROLS = {
    "": Control(0),
    "DN": Control(DN, ",nan_result=canonical"),
    # Conversions from and to f16 flush the other type alone, by FZ.
    "FZ16,FZ": Control(FZ16 | FZ, ",denormals=flush_both", lambda given: not given.converts_half, FLUSHED),
    "FZ": Control(FZ, ",denormals_f32=flush_both", lambda given: given.computes_f32, FLUSHED),
    "FZ to f16": Control(FZ, ",denormals_f32=flush_both", lambda given: (given.types, given.to) == (("f32",), "f16")),
    # Too large a number is invalid, and raises nothing else.
    "AHP": Control(
        AHP,
        ",nan_to_nanless=zero",
        lambda given: given.converts_half,
        {Flags.OVERFLOW | Flags.INEXACT: Flags.INVALID},
    ),
}


# --- operands ---------------------------------------------------------------------------------------------------------


def hard_codes(fmt: FloatFormat, special: Codes, rng: np.random.Generator) -> Codes:
    """Return codes of both signs: exponents near 0, near the ends of this and other formats, and any; fractions that
    are ties, or next to ties, of any precision. NaNs of both kinds, infinities, zeros and subnormals are five in eight
    where the mask ``special`` holds, and one in 100 elsewhere.
    """
    count, bits, top = special.size, fmt.mantissa_bits, (1 << fmt.exponent_bits) - 1
    ends = [0, *(end for name in ("f16", "bf16", "f32", "f64") for end in (FORMATS[name].emin, FORMATS[name].emax))]
    near = rng.choice(ends, count) + fmt.bias + rng.integers(-fmt.precision - 4, fmt.precision + 5, count)
    anywhere = (near < 0) | (near >= top) | (rng.random(count) < 0.2)
    exponents = np.where(anywhere, rng.integers(0, top, count), near).astype(np.uint64)
    fractions = rng.integers(0, 1 << bits, count, dtype=np.uint64)
    fractions &= rng.choice(np.array([(1 << bits) - 1, (1 << bits) - 1, 0, 3], np.uint64), count)
    ones = (np.uint64(1) << rng.integers(0, bits + 1, count).astype(np.uint64)) - np.uint64(1)
    half = ones ^ ones >> np.uint64(1)
    ends_in = [half * 0, half, half + (half > 0), half - (half > 0), ones, half >> np.uint64(1), half & np.uint64(1)]
    fractions = (fractions & ~ones) | (np.choose(rng.integers(0, len(ends_in), count), ends_in) & ones)
    kind = rng.integers(0, np.where(special, 8, 500))
    exponents[kind < 3], exponents[(kind == 3) | (kind == 4)] = top, 0
    quiet = np.uint64(1 << bits - 1)
    fractions[kind == 0] |= quiet
    fractions[kind == 1] = fractions[kind == 1] & ~quiet | np.uint64(1)
    fractions[(kind == 2) | (kind == 3)] = 0
    signs = rng.integers(0, 2, count, dtype=np.uint64) << np.uint64(fmt.bits - 1)
    codes: Codes = signs | exponents << np.uint64(bits) | fractions
    return codes


def exponents_of(fmt: FloatFormat, codes: Codes) -> Codes:
    return (codes >> np.uint64(fmt.mantissa_bits)).astype(np.int64) & ((1 << fmt.exponent_bits) - 1)


def related(fmt: FloatFormat, exponents: Codes, codes: Codes, rng: np.random.Generator) -> Codes:
    """Give a part of the numbers an exponent near these, which are biased."""
    top, bits = (1 << fmt.exponent_bits) - 1, np.uint64(fmt.mantissa_bits)
    wanted = exponents + rng.integers(-3, 4, codes.size)
    wide = rng.random(codes.size) < 0.3
    wanted[wide] += rng.integers(-fmt.precision - 2, fmt.precision + 3, int(wide.sum()))
    fits = (wanted >= 0) & (wanted < top) & (codes >> bits & np.uint64(top) != top)
    moved = codes & ~np.uint64(top << fmt.mantissa_bits) | np.clip(wanted, 0, top).astype(np.uint64) << bits
    return np.where(fits & (rng.random(codes.size) < 0.6), moved, codes)


def hard_integers(width: int, count: int, rng: np.random.Generator) -> Codes:
    """Return integers of every length and of both signs, with leading bits as `hard_codes` has them."""
    fractions = hard_codes(FORMATS["f64"], np.zeros(count, np.bool_), rng) & np.uint64((1 << 52) - 1)
    found = (fractions | np.uint64(1 << 52)) << np.uint64(11) >> rng.integers(0, 64, count).astype(np.uint64)
    found += rng.integers(-1, 2, count).astype(np.uint64)
    return np.where(rng.random(count) < 0.5, found, ~found + np.uint64(1)) & np.uint64((1 << width) - 1)


def operands_of(instruction: Instruction, count: int, *seed: int) -> list[Codes]:
    """Return the operands of a chunk, as uint64: hard codes. The last of several are often near to the sum, product or
    quotient of the others, or bring these to the ends of the format.
    """
    kinds = instruction.types
    rng = np.random.default_rng([*seed, *map(ord, instruction.name)])
    if kinds[0] in INTEGERS.values():
        return [hard_integers(int(kinds[0][1:]), count, rng)]
    formats, special = [FORMATS[name] for name in kinds], rng.random(count) < 0.03
    found = [hard_codes(fmt, special, rng) for fmt in formats]
    if len(kinds) == 1:
        if instruction.op == "math.sqrt":  # negative numbers, which are invalid, are few
            found[0] &= ~np.where(rng.random(count) < 0.97, np.uint64(1 << formats[0].bits - 1), np.uint64(0))
        return found
    fmt = formats[0]
    first = exponents_of(fmt, found[0])
    end = rng.choice([0, fmt.emin, fmt.emin - fmt.precision, fmt.emax], count)
    wanted = np.choose(rng.integers(0, 3, count), [first, end + 2 * fmt.bias - first, first - end])
    found[1] = related(fmt, wanted, found[1], rng)
    if len(kinds) == 3:
        product = first + exponents_of(fmt, found[1]) - 2 * fmt.bias + formats[2].bias
        found[2] = related(formats[2], product, found[2], rng)
    return found


def chunks(instruction: Instruction, count: int, mode: str) -> Iterator[list[Codes]]:
    """Yield the rows that are compared in one mode: every code of the only operand of 16 bits, if those are no
    more than ``count``; else ``count`` rows, or a quarter of them where the mode makes no difference.
    """
    if instruction.types == ("f16",) and count >= 1 << 16:
        yield [np.arange(1 << 16, dtype=np.uint64)]
        return
    rows = count if instruction.follows_fpcr else -(-count // len(MODES))
    for number, start in enumerate(range(0, rows, CHUNK)):
        yield operands_of(instruction, min(CHUNK, rows - start), number, MODES[mode])


# --- qemu -------------------------------------------------------------------------------------------------------------


def by_qemu(name: str, fpcr: int, operands: Sequence[Codes]) -> tuple[Codes, Codes]:
    """Return qemu's results, as uint64, and flags."""
    rows = np.zeros((operands[0].size, 3), "<u8")
    for place, codes in enumerate(operands):
        rows[:, place] = codes
    command = ["qemu-aarch64", "-cpu", "max", str(Path(os.environ["HALFULP_ARM"]) / "arm_unit"), name, str(fpcr)]
    done = subprocess.run(command, input=rows.tobytes(), stdout=subprocess.PIPE, check=True)
    results = np.frombuffer(done.stdout, "<u8").reshape(operands[0].size, 2)
    flags = np.zeros(operands[0].size, np.uint8)
    for bit, flag in FPSR.items():
        flags |= (results[:, 1] >> np.uint64(bit) & np.uint64(1)).astype(np.uint8) * np.uint8(flag)
    return results[:, 0], flags


CASES = [(given, control) for control in CONTROLS for given in instructions() if CONTROLS[control].covers(given)]
SIZES = {"sample": (4_000, ["upward"]), "whole": (1_000_000, list(MODES))}
"""The rows of a mode, a tenth of them where bits of FPCR are set, and the modes."""


@pytest.mark.parametrize("size", amounts("sample", "whole"))
@pytest.mark.parametrize(("given", "control"), CASES, ids=[f"{i.name}-{control}" for i, control in CASES])
def test_instructions(given: Instruction, control: str, size: str) -> None:
    """``control``: the bits of FPCR that are set."""
    setting, (count, modes) = CONTROLS[control], SIZES[size]
    instruction = setting.instruction(given)
    for mode in modes:
        for operands in chunks(given, count // 10 if setting.fpcr else count, mode):
            results, flags = by_qemu(given.name, setting.fpcr | MODES[mode] << 22, operands)
            expected, ours = instruction.computed(operands, mode, setting.choices)
            wrong = np.flatnonzero((expected != results) | (setting.raised(ours) != flags))
            told = [
                f"{[hex(codes[k]) for codes in operands]}: {hex(expected[k])} with flags {ours[k]:#x}, "
                f"qemu {hex(results[k])} with {flags[k]:#x}"
                for k in wrong[:5]
            ]
            assert not wrong.size, (mode, f"{wrong.size} of {results.size} differ", told)
