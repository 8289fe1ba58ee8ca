"""A test bench of bf16_tanh.sv in cocotb: results a fixed number of edges after their operands."""

from __future__ import annotations

import os
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from halfulp.cocotb import Reference, Scoreboard

REFERENCE = Reference("math.tanh", "bf16", profile="spec,nan_result=canonical")
ROWS = int(os.environ.get("ROWS", "65536"))
# F1, the hardest operands, takes some seconds to find them.
MODELS = ("F1", "F2") if ROWS == 65536 else ("F2",)


@cocotb.test()
async def operands(dut: Any) -> None:
    """The ends of the domain and the hardest operands, and then all others; or fewer of both."""
    board = Scoreboard(REFERENCE, name="bf16_tanh", models=MODELS)
    Clock(dut.clk, 10, unit="ns").start()
    dut.valid_in.value = 0
    await RisingEdge(dut.clk)
    outputs = {"result": dut.result, "flags": dut.flags}
    cocotb.start_soon(board.watch(dut.clk, {"a": dut.a}, outputs, latency=1, valid_in=dut.valid_in))
    dut.valid_in.value = 1
    level = "exhaustive" if ROWS == 65536 else "weighted"
    for row in REFERENCE.stimulus(level, MODELS, n=ROWS):
        dut.a.value = row["a"]
        await RisingEdge(dut.clk)
    dut.valid_in.value = 0
    for _ in range(2):
        await RisingEdge(dut.clk)
    dut._log.info("%s", board.check())
    dut._log.info("hit so far:\n%s", board.coverage)
