"""A test bench of mx_dot.sv in cocotb: blocks of 32 elements, eight of them in each step.

For f4E2M1FN: ``ELEMENT=e2m1 python simulate.py mx_dot EXPONENT=2 FRACTION=1 BIAS=1 HAS_NAN=0``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

import halfulp as hu
from halfulp.cocotb import Reference, Scoreboard

ROWS = int(os.environ.get("ROWS", "2000"))
ELEMENT = os.environ.get("ELEMENT", "e4m3")
BLOCK, LANES = 32, 8
WIDTH = {"e4m3": 8, "e2m1": 4}[ELEMENT]
# What the unit must compute, whatever its parameters say.
UNIT = hu.Accumulator(group=LANES, bits=26, cut="to_odd")
REFERENCE = Reference(f"mma.m1n1k{BLOCK}.f32.{ELEMENT}.{ELEMENT}.f32.ue8m0.block{BLOCK}", mma=UNIT)

ONE = {"e4m3": 0x38, "e2m1": 0x2}[ELEMENT]
MOST = {"e4m3": 0x7E, "e2m1": 0x7}[ELEMENT]
MINUS = 1 << (WIDTH - 1)
F32_ONE, F32_INFINITY, F32_MOST = 0x3F800000, 0x7F800000, 0x7F7FFFFF


def row(a: list[int], b: list[int], c: int = 0, scale_a: int = 127, scale_b: int = 127) -> dict[str, int]:
    """Return the operands of a block; elements that are not given are +0."""
    found = {f"a_0_{k}": a[k] if k < len(a) else 0 for k in range(BLOCK)}
    found |= {f"b_{k}_0": b[k] if k < len(b) else 0 for k in range(BLOCK)}
    return found | {"c_0_0": c, "scale_a_0_0": scale_a, "scale_b_0_0": scale_b}


def corners() -> Iterator[dict[str, int]]:
    """Yield rows with special numbers: signs of zeros, subnormals, cancellation, overflow, infinities and NaNs."""
    for sign in (0, MINUS):
        for c in (0, 1 << 31, F32_ONE, 1, F32_MOST, F32_INFINITY, F32_INFINITY | 1 << 31, 0x7FC00001, 0xFF800001):
            yield row([sign] * BLOCK, [0] * BLOCK, c)  # products of zeros
            yield row([sign | 1] * BLOCK, [1] * BLOCK, c)  # subnormal elements
            yield row([sign | MOST] * BLOCK, [MOST] * BLOCK, c)
            yield row([sign | ONE, MINUS ^ sign | ONE], [ONE, ONE], c)  # 1 - 1
            for scale_a, scale_b in ((0, 0), (0, 254), (254, 254), (255, 127), (127, 255), (255, 255)):
                yield row([sign | MOST, 1], [ONE] * 2, c, scale_a, scale_b)
            yield row([sign | (MINUS - 1), 0], [0, ONE], c)  # e4m3: NaN times zero
    for scale in range(256):
        yield row([ONE] * BLOCK, [MOST] * BLOCK, F32_ONE, scale, 127)
        yield row([1] * BLOCK, [MINUS | 1] * BLOCK, 1, scale, 0)  # around the smallest subnormal of f32
    for shift in range(40):  # the sum so far is further and further below the products
        yield row([ONE], [ONE], (127 - shift) << 23 | 1)
        yield row([MINUS | ONE], [ONE], (127 - shift) << 23 | 1)


async def start(dut: Any) -> Scoreboard:
    """Start the clock, reset the unit, and take its results."""
    board = Scoreboard(REFERENCE, name="mx_dot")
    Clock(dut.clk, 10, unit="ns").start()
    dut.reset.value, dut.valid_in.value = 1, 0
    for _ in range(2):
        await RisingEdge(dut.clk)
    dut.reset.value = 0
    cocotb.start_soon(take(dut, board))
    return board


async def take(dut: Any, board: Scoreboard) -> None:
    """Give the board each result."""
    while True:
        await RisingEdge(dut.clk)
        if dut.valid_out.value == 1:
            board.received(result_0_0=dut.result.value)


async def send(dut: Any, board: Scoreboard, operands: dict[str, int]) -> None:
    """Send a block, step by step."""
    board.sent(**operands)
    dut.c.value = operands["c_0_0"]
    dut.scale_a.value, dut.scale_b.value = operands["scale_a_0_0"], operands["scale_b_0_0"]
    dut.valid_in.value = 1
    for begin in range(0, BLOCK, LANES):
        dut.first.value, dut.last.value = begin == 0, begin + LANES == BLOCK
        dut.a.value = sum(operands[f"a_0_{begin + k}"] << k * WIDTH for k in range(LANES))
        dut.b.value = sum(operands[f"b_{begin + k}_0"] << k * WIDTH for k in range(LANES))
        await RisingEdge(dut.clk)
    dut.valid_in.value = 0


async def finish(dut: Any, board: Scoreboard) -> None:
    """Wait for the last result, and compare."""
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut._log.info("%s", board.check())


@cocotb.test()
async def special_numbers(dut: Any) -> None:
    """Blocks made by hand."""
    board = await start(dut)
    for operands in corners():
        await send(dut, board, operands)
    await finish(dut, board)


@cocotb.test()
async def blocks(dut: Any) -> None:
    """Numbers near 1, wide windows of exponents, sums that cancel, and uniform bits."""
    board = await start(dut)
    for operands in REFERENCE.stimulus("weighted", n=ROWS):
        await send(dut, board, operands)
    await finish(dut, board)
