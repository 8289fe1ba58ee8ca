"""The output of a program: text for people, and an event with the typed values in it."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value


def show(op: Operation, settings: Settings, text: str, values: Sequence[Value] = ()) -> None:
    """Print a text on behalf of an op, and tell the listeners. All output of a program passes through here."""
    settings.write(text)
    for listener in settings.listeners:
        listener.printed(op, text, values)
