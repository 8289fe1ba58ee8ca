"""Read the signals of a design under test. cocotb is needed in a simulator alone, and loaded there."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from halfulp.interp.ir.errors import InputError


def code_of(value: Any) -> int | str:
    """Return the code of an integer or of the value of a signal. With an X or Z: its bits, after ``0b``.

    Signals are unsigned: a negative integer raises InputError, as does an object that is no value.
    """
    if type(value) is int:
        if value < 0:
            raise InputError(f"{value} is negative: a code is the bits as an unsigned integer")
        return value
    try:
        # LogicArray and Logic of cocotb, integers of NumPy. A handle of a signal is not its value.
        return int(value)
    except ValueError:
        bits = str(value).upper()
        if not bits or set(bits) - set("01XZUWLH-"):
            raise InputError(f"{value!r} is not the value of a signal") from None
        return "0b" + "".join(bit if bit in "01Z" else "X" for bit in bits)
    except TypeError:
        raise InputError(f"{value!r} is not the value of a signal", hint="give signal.value") from None


def known_bits(bits: str) -> int:
    """Return bits after ``0b`` as an integer, with 0 for each X and Z."""
    return int("".join(bit if bit in "01" else "0" for bit in bits.removeprefix("0b")), 2)


@dataclass(frozen=True)
class Handshake:
    """When transactions begin and end: see `Scoreboard.watch`."""

    latency: int | None = None
    valid_in: Any = None
    ready_in: Any = None
    valid_out: Any = None
    ready_out: Any = None
    reset: Any = None
    reset_level: int = 1

    def __post_init__(self) -> None:
        if self.latency is None and self.valid_out is None:
            raise InputError("when do results come? give latency, or the signal valid_out")
        if self.latency is not None and self.latency < 0:
            raise InputError(f"a latency of {self.latency} edges")


class Board(Protocol):
    """An object that takes transactions, such as a `Scoreboard`."""

    name: str

    def sent(self, *values: Any, **named: Any) -> None:
        """Take operands."""

    def received(self, *values: Any, **named: Any) -> None:
        """Take results."""

    def drop_waiting(self) -> None:
        """Forget transactions without results."""


class _Levels:
    """The levels of handshake signals. Before a signal was 0 or 1 for the first time, an X counts as 0."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._known: set[int] = set()

    def high(self, *handles: Any) -> bool:
        """Tell whether all signals are 1; those that are None are."""
        return all(self._is_high(handle) for handle in handles if handle is not None)

    def _is_high(self, handle: Any) -> bool:
        code = code_of(handle.value)
        if isinstance(code, int):
            self._known.add(id(handle))
            return code == 1
        if id(handle) in self._known:
            raise AssertionError(f"{self._name}: the handshake signal '{handle._name}' is {code[2:]}")
        return False


async def watch(
    board: Board, clock: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any], times: Handshake
) -> None:
    """Give a board the transactions of a design. See `Scoreboard.watch`."""
    edge = import_module("cocotb.triggers").RisingEdge(clock)
    levels = _Levels(board.name)
    begun: deque[int] = deque()
    now = 0
    while True:
        await edge
        if times.reset is not None and code_of(times.reset.value) == times.reset_level:
            board.drop_waiting()
            begun.clear()
            continue
        now += 1
        if levels.high(times.valid_in, times.ready_in):
            board.sent(**{name: handle.value for name, handle in inputs.items()})
            begun.append(now)
        if times.valid_out is not None:
            done = levels.high(times.valid_out, times.ready_out)
        else:
            done = bool(begun) and now - begun[0] == times.latency
        if done:
            if begun and times.latency not in (None, now - begun[0]):
                raise AssertionError(
                    f"{board.name}: results came {now - begun[0]} edges after their transaction, not {times.latency}"
                )
            board.received(**{name: handle.value for name, handle in outputs.items()})
            begun.popleft()
