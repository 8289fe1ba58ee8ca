"""A test bench of multiply_add.sv in pyuvm: halfulp makes the items of a sequence, and its scoreboard is one of UVM."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cocotb
import pyuvm
from cocotb.triggers import Timer
from pyuvm import (
    ConfigDB,
    uvm_analysis_port,
    uvm_driver,
    uvm_env,
    uvm_sequence,
    uvm_sequence_item,
    uvm_sequencer,
    uvm_subscriber,
    uvm_test,
)

from halfulp.cocotb import Reference, Scoreboard

PROGRAM = Path(__file__).parent.parent / "datapaths" / "fixed_point.mlir"
REFERENCE = Reference(os.environ.get("PROGRAM", str(PROGRAM)))
ROWS = int(os.environ.get("ROWS", "5000"))


class Operands(uvm_sequence_item):
    """The operands of a transaction."""

    def __init__(self, name: str, row: dict[str, int]) -> None:
        super().__init__(name)
        self.row = row


class Stimulus(uvm_sequence):
    """Operands that halfulp chooses."""

    async def body(self) -> None:
        """Send them one after another."""
        for row in REFERENCE.stimulus("weighted", n=ROWS):
            item = Operands("operands", row)
            await self.start_item(item)
            await self.finish_item(item)


class Driver(uvm_driver):
    """Drives the operands, and tells what the unit gives."""

    def build_phase(self) -> None:
        """Make the port."""
        self.port = uvm_analysis_port("port", self)

    async def run_phase(self) -> None:
        """Drive items for ever."""
        dut = cocotb.top
        while True:
            item = await self.seq_item_port.get_next_item()
            dut.a.value, dut.b.value, dut.c.value = (item.row[name] for name in REFERENCE.inputs)
            await Timer(1, unit="ns")
            self.port.write((item.row, dut.result.value.to_unsigned()))
            self.seq_item_port.item_done()


class Checker(uvm_subscriber):
    """The scoreboard of halfulp as a component of UVM."""

    def build_phase(self) -> None:
        """Make the scoreboard."""
        self.board = Scoreboard(REFERENCE, models="all", name="multiply_add")

    def write(self, transaction: Any) -> None:
        """Take the operands and the result of a transaction."""
        row, result = transaction
        self.board.sent(**row)
        self.board.received(result=result)

    def check_phase(self) -> None:
        """Compare all of them, and tell what they cover."""
        self.logger.info("%s", self.board.check())
        self.logger.info("hit so far:\n%s", self.board.coverage)


class Environment(uvm_env):
    """A sequencer, the driver and the checker."""

    def build_phase(self) -> None:
        """Make the components."""
        self.sequencer = uvm_sequencer("sequencer", self)
        ConfigDB().set(None, "*", "SEQUENCER", self.sequencer)
        self.driver = Driver("driver", self)
        self.checker = Checker("checker", self)

    def connect_phase(self) -> None:
        """Connect them."""
        self.driver.seq_item_port.connect(self.sequencer.seq_item_export)
        self.driver.port.connect(self.checker.analysis_export)


@pyuvm.test()
class RandomOperands(uvm_test):
    """Operands of TestFloat's mixture."""

    def build_phase(self) -> None:
        """Make the environment."""
        self.environment = Environment("environment", self)

    async def run_phase(self) -> None:
        """Run the sequence."""
        self.raise_objection()
        await Stimulus("stimulus").start(self.environment.sequencer)
        self.drop_objection()
