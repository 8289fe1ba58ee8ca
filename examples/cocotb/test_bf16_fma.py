"""A test bench of bf16_fma.sv in cocotb: operands from halfulp, and its scoreboard at the signals of the unit."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from halfulp.cocotb import Reference, Scoreboard

# The unit returns the NaN of RISC-V.
REFERENCE = Reference("math.fma", "bf16", profile="spec,nan_result=canonical")
ROWS = int(os.environ.get("ROWS", "20000"))


async def start(dut: Any, **options: Any) -> Scoreboard:
    """Start the clock, reset the unit, and watch it."""
    board = Scoreboard(REFERENCE, name="bf16_fma", **options)
    Clock(dut.clk, 10, unit="ns").start()
    dut.reset.value, dut.valid_in.value, dut.ready_out.value = 1, 0, 1
    cocotb.start_soon(
        board.watch(
            dut.clk,
            {"a": dut.a, "b": dut.b, "c": dut.c},
            {"result": dut.result, "flags": dut.flags},
            valid_in=dut.valid_in,
            ready_in=dut.ready_in,
            valid_out=dut.valid_out,
            ready_out=dut.ready_out,
            reset=dut.reset,
        )
    )
    for _ in range(2):
        await RisingEdge(dut.clk)
    dut.reset.value = 0
    return board


async def send(dut: Any, row: dict[str, int]) -> None:
    """Offer operands until the unit takes them."""
    dut.a.value, dut.b.value, dut.c.value = row["a"], row["b"], row["c"]
    dut.valid_in.value = 1
    await RisingEdge(dut.clk)
    while not int(dut.ready_in.value):
        await RisingEdge(dut.clk)
    dut.valid_in.value = 0


async def drain(dut: Any) -> None:
    """Wait until the last results are there."""
    dut.ready_out.value = 1
    for _ in range(8):
        await RisingEdge(dut.clk)


@cocotb.test()
async def corners(dut: Any) -> None:
    """Corner cases, one after another."""
    board = await start(dut)
    for row in REFERENCE.stimulus("1", n=ROWS):
        await send(dut, row)
    await drain(dut)
    dut._log.info("%s", board.check())


@cocotb.test()
async def random_handshakes(dut: Any) -> None:
    """Random operands, gaps between them, and results that are not taken at once. What do they cover?"""
    board = await start(dut, models=["B1"])
    dice = random.Random(1)

    async def stall() -> None:
        while True:
            dut.ready_out.value = dice.random() < 0.7
            await RisingEdge(dut.clk)

    stalling = cocotb.start_soon(stall())
    for row in REFERENCE.stimulus("weighted", n=ROWS // 10):
        await send(dut, row)
        while dice.random() < 0.2:
            await RisingEdge(dut.clk)
    stalling.cancel()
    await drain(dut)
    dut._log.info("%s", board.check())
    dut._log.info("hit so far:\n%s", board.coverage)
