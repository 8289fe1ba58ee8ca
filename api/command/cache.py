"""``halfulp cache``: show the cache on disk, or clear it."""

from __future__ import annotations

from halfulp.command.console import SUCCESS, write
from halfulp.command.options.cache import CacheArguments
from halfulp.command.sources import Sources
from halfulp.fp_formats.paths import disk
from halfulp.fp_formats.spelling import table_lines


def execute(arguments: CacheArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code."""
    folder = disk.place()
    if folder is None:
        write(f"the cache is off: {disk.FOLDER} says so, or there is no home folder\n")
        return SUCCESS
    if arguments.clear:
        disk.clear(folder)
    kept = disk.files(folder)
    rows = [
        ("folder", str(folder)),
        ("files", f"{len(kept):,}"),
        ("size", f"{sum(file.size for file in kept):,} bytes"),
        ("limit", f"{disk.limit():,} bytes"),
    ]
    write("\n".join(table_lines(rows)) + "\n")
    return SUCCESS
