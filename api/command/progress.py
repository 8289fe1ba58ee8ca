"""A progress bar for long work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def _scaled(number: float) -> str:
    """Spell a number with three digits, and a letter for thousands, millions or billions."""
    for limit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:.3g}{letter}"
    return f"{number:.3g}"


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[int, int], object]]:
    """Show a progress bar on a terminal: the count of ``unit``, its rate and the time left. Show nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed or (task.completed / task.elapsed if task.elapsed else 0)
            return Text(f"{_scaled(speed)} {unit}/s" if speed else "")

    columns = (BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        row = bar.add_task(unit)
        yield lambda done, total: bar.update(row, completed=done, total=total)
