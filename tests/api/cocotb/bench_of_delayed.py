"""The part of `test_scoreboard.py` that runs in a simulator: a scoreboard checks the signals of delayed.sv."""

import random
from collections.abc import Callable, Coroutine
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotb.types import LogicArray

from halfulp.cocotb import Reference, Scoreboard
from halfulp.interp.ir.errors import InputError

REFERENCE = Reference("arith.addf", "f8E4M3FN")
ROWS = list(REFERENCE.stimulus("weighted", n=150, seed=1))


async def begin(dut: Any) -> None:
    Clock(dut.clk, 2, unit="ns").start()
    dut.reset.value, dut.valid_in.value, dut.spoil.value, dut.hide.value = 1, 0, 0, 0
    dut.a.value, dut.b.value = 0, 0
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.reset.value = 0


async def send(dut: Any, gap: Callable[[], bool] = lambda: False) -> None:
    for row in ROWS:
        while gap():
            dut.valid_in.value = 0
            await RisingEdge(dut.clk)
        dut.valid_in.value, dut.a.value, dut.b.value = 1, row["a"], row["b"]
        await RisingEdge(dut.clk)
    dut.valid_in.value = 0
    for _ in range(5):
        await RisingEdge(dut.clk)


def watched(board: Scoreboard, dut: Any, **times: Any) -> Coroutine[Any, Any, None]:
    outputs = {"result": dut.result, "flags": dut.flags}
    return board.watch(dut.clk, {"a": dut.a, "b": dut.b}, outputs, reset=dut.reset, **times)


@cocotb.test()
async def valid_on_both_sides(dut: Any) -> None:
    board = Scoreboard(REFERENCE)
    cocotb.start_soon(watched(board, dut, valid_in=dut.valid_in, valid_out=dut.valid_out, latency=2))
    dice = random.Random(2)
    await begin(dut)
    await send(dut, lambda: dice.random() < 0.3)
    assert board.check().rows == len(ROWS)


@cocotb.test()
async def a_fixed_latency(dut: Any) -> None:
    board = Scoreboard(REFERENCE, immediate=True)
    cocotb.start_soon(watched(board, dut, valid_in=dut.valid_in, latency=2))
    dice = random.Random(3)
    await begin(dut)
    await send(dut, lambda: dice.random() < 0.3)
    assert board.check().rows == len(ROWS)


@cocotb.test()
async def a_wrong_fixed_latency(dut: Any) -> None:
    """Results are read one edge too early: an X at first, then those of the row before."""
    board = Scoreboard(REFERENCE)
    cocotb.start_soon(watched(board, dut, valid_in=dut.valid_in, latency=1))
    await begin(dut)
    await send(dut)
    report = board.report()
    assert report.cause == "results 1 row late", str(report)
    assert report.found.unknown == 1


@cocotb.test()
async def a_wrong_latency_with_valid(dut: Any) -> None:
    board = Scoreboard(REFERENCE, name="adder")
    watching = watched(board, dut, valid_in=dut.valid_in, valid_out=dut.valid_out, latency=3)
    task = cocotb.start_soon(
        expect(
            AssertionError, "adder: results came 2 clock edges after their transaction, but must come after 3", watching
        )
    )
    await begin(dut)
    await send(dut)
    await task


async def expect(kind: type[Exception], message: str, run: Coroutine[Any, Any, None]) -> None:
    with pytest.raises(kind, match=message):
        await run


@cocotb.test()
async def an_x_that_counts(dut: Any) -> None:
    board = Scoreboard(REFERENCE, immediate=True)
    watching = watched(board, dut, valid_in=dut.valid_in, valid_out=dut.valid_out)
    task = cocotb.start_soon(expect(AssertionError, "result: unknown digits", watching))
    await begin(dut)
    dut.spoil.value = 1
    await send(dut)
    await task
    assert isinstance(dut.result.value, LogicArray)


@cocotb.test()
async def a_reset_drops_what_waits(dut: Any) -> None:
    board = Scoreboard(REFERENCE)
    cocotb.start_soon(watched(board, dut, valid_in=dut.valid_in, valid_out=dut.valid_out))
    await begin(dut)
    dut.valid_in.value, dut.a.value, dut.b.value = 1, 0x38, 0x38
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    assert board.waiting == 1
    await begin(dut)
    assert (board.waiting, board.transactions) == (0, 0)
    await send(dut)
    assert board.check().rows == len(ROWS)


@cocotb.test()
async def an_unknown_handshake(dut: Any) -> None:
    board = Scoreboard(REFERENCE, name="adder")
    watching = watched(board, dut, valid_in=dut.valid_in, valid_out=dut.valid_out)
    task = cocotb.start_soon(expect(AssertionError, "adder: the handshake signal 'valid_out' is X", watching))
    await begin(dut)
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.hide.value = 1
    await task


@cocotb.test()
async def no_way_to_tell_when_results_come(dut: Any) -> None:
    await expect(InputError, "give latency=…, or the signal valid_out=…", watched(Scoreboard(REFERENCE), dut))
