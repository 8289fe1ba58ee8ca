"""A real design, judged by our vectors: the casts and the multiply-adds of the FPU cvfpu, with the bugs that they show.

``tests/build_cvfpu.sh FOLDER`` builds it with Verilator from the published sources; ``HALFULP_CVFPU`` names the folder.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from amounts import amounts

import halfulp as hu
from halfulp.golden.report import Report

pytestmark = pytest.mark.cvfpu

MODES = ("to_nearest_even", "toward_zero", "downward", "upward", "to_nearest_away", "to_odd")

UNDERFLOW = "underflow raised only where the rounded result is subnormal or zero"
OVERFLOW = "the flag invalid in place of overflow"
BOUND = "the lower bound compared before rounding"
CARRY = "numbers that round to -2^8 taken as 0"
TININESS = "tininess=before"

CASTS: dict[tuple[str, str, str], tuple[str | None, tuple[int, ...]]] = {
    ("fcvt", "f16", "f8E5M2"): (UNDERFLOW, (128, 0, 128, 128, 128, 0)),
    ("fcvt", "bf16", "f8E5M2"): (UNDERFLOW, (32, 0, 32, 32, 32, 0)),
    ("fcvt_from_ui", "i16", "f16"): (OVERFLOW, (16, 0, 0, 31, 16, 0)),
    ("fcvt_from_ui", "i16", "f8E5M2"): (OVERFLOW, (4096, 0, 0, 8191, 4096, 0)),
    ("fcvt_to_si", "f16", "i8"): (BOUND, (4, 7, 0, 7, 3, 0)),
    ("fcvt_to_ui", "f16", "i8"): (CARRY, (4, 0, 7, 0, 4, 0)),
    ("fcvt", "bf16", "f16"): (None, (0,) * 6),
    ("fcvt", "f16", "bf16"): (None, (0,) * 6),
    ("fcvt", "f8E5M2", "f32"): (None, (0,) * 6),
    ("fcvt_from_si", "i8", "f8E5M2"): (None, (0,) * 6),
    ("fcvt_from_ui", "i8", "f8E5M2"): (None, (0,) * 6),
    ("fcvt_from_si", "i16", "f16"): (None, (0,) * 6),
    ("fcvt_to_si", "f16", "i16"): (None, (0,) * 6),
    ("fcvt_to_ui", "f16", "i16"): (None, (0,) * 6),
    ("fcvt_to_si", "bf16", "i32"): (None, (0,) * 6),
    ("fcvt_to_ui", "bf16", "i32"): (None, (0,) * 6),
    ("fcvt_to_si", "bf16", "i64"): (None, (0,) * 6),
    ("fcvt_to_ui", "bf16", "i64"): (None, (0,) * 6),
    ("fcvt_to_si", "f8E5M2", "i8"): (None, (0,) * 6),
    ("fcvt_to_ui", "f8E5M2", "i8"): (None, (0,) * 6),
}
"""Every operand of each cast: what `vectors check` says, and how many rows differ in each of `MODES`, as recorded."""


def judged(folder: Path, op: str, types: tuple[str, ...], to: str, mode: str, **amount: Any) -> Report:
    """Return the report on what the FPU gives for our vectors."""
    unit = Path(os.environ["HALFULP_CVFPU"]) / "bench"
    vectors = hu.vectors(op, types, to=to, rounding=mode, profile="riscv", **amount)
    vectors.write(folder, name="vectors")
    with (folder / "vectors.tv").open("rb") as given, (folder / "results.tv").open("wb") as made:
        subprocess.run([unit, op, types[0], to, mode], stdin=given, stdout=made, check=True)
    return hu.check(vectors, folder / "results.tv")


@pytest.mark.parametrize("cast", CASTS, ids=" ".join)
@pytest.mark.parametrize("modes", amounts(MODES[:1], MODES), ids=len)
def test_casts(cast: tuple[str, str, str], modes: tuple[str, ...], tmp_path: Path) -> None:
    op, source, target = cast
    cause, counts = CASTS[cast]
    for mode in modes:
        report = judged(tmp_path, op, (source,), target, mode, level="exhaustive")
        differing = counts[MODES.index(mode)]
        assert (report.rows, report.differing) == (1 << bits_of(source), differing), str(report)
        assert report.cause == (cause if differing else None), str(report)
        assert all(remark.endswith("raised") for remark in report.found.kinds), report.found.kinds


def bits_of(type: str) -> int:
    return int(type[1:]) if type.startswith("i") else hu.float_format(type).bits


def test_i32_near_its_ends(tmp_path: Path) -> None:
    """A double between two integers beside -2^31 and -2^32, where few vectors are."""
    lows = [-(2.0**31) - 0.5, -(2.0**31) - 0.25, -(2.0**31) - 0.75, -(2.0**31), -(2.0**31) - 1]
    assert flags_of("fcvt_to_si", lows) == ([1, 1, 16, 0, 16], [16, 16, 16, 0, 16])
    assert flags_of("fcvt_to_ui", [-(2.0**32) + 0.5, -(2.0**32) + 0.25, -1.0, -0.5]) == ([16, 16, 16, 1], [1, 1, 16, 1])


def flags_of(op: str, numbers: list[float]) -> tuple[list[int], list[int]]:
    """Return the flags of conversions from f64 to i32: the right ones, and those of the FPU."""
    operands = hu.convert(numbers, "f64")
    _, right = hu.eval(op, operands, type="f64", to="i32", flags=True, profile="riscv")
    lines = "".join(f"{code:016x}\n" for code in operands.bits.tolist())
    command = [f"{os.environ['HALFULP_CVFPU']}/bench", op, "f64", "i32", "to_nearest_even"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return right.tolist(), [int(line.split()[2], 16) for line in done.stdout.splitlines()]


ARITHMETIC: tuple[tuple[str, tuple[str, ...], str, dict[str, Any]], ...] = (
    ("fadd", ("f8E5M2", "f8E5M2"), "f8E5M2", {"level": "exhaustive"}),
    ("fsub", ("f64", "f64"), "f64", {"level": "weighted", "n": 100_000}),
    ("fmadd", ("f16", "f16", "f16"), "f16", {"level": "weighted", "n": 100_000}),
    ("fmadd", ("bf16", "bf16", "f32"), "f32", {"level": "weighted", "n": 100_000}),
    ("fnmadd", ("f8E5M2", "f8E5M2", "f16"), "f16", {"level": "weighted", "n": 100_000}),
)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("op", "types", "to", "amount"), ARITHMETIC, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_arithmetic(
    op: str, types: tuple[str, ...], to: str, amount: dict[str, Any], mode: str, tmp_path: Path
) -> None:
    assert judged(tmp_path, op, types, to, mode, **amount).equal


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", MODES)
def test_products_are_tiny_before_rounding(mode: str, tmp_path: Path) -> None:
    """RISC-V tells tininess after rounding, and so does the unit for sums."""
    report = judged(tmp_path, "fmul", ("f8E5M2", "f8E5M2"), "f8E5M2", mode, level="exhaustive")
    nearest = mode in ("to_nearest_even", "to_nearest_away")
    assert (report.rows, report.differing, report.cause) == (65_536, *((120, TININESS) if nearest else (0, None)))
