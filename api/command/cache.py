"""``halfulp cache``: show the cache on disk, or clear it."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.console import SUCCESS, put, write
from halfulp.command.execution import Sources
from halfulp.command.option import Command
from halfulp.described import flag
from halfulp.fp_formats.paths import disk
from halfulp.fp_formats.spelling import table_lines


@dataclass(frozen=True, kw_only=True)
class CacheArguments:
    """The options of ``halfulp cache``."""

    clear: bool = flag("remove the files of the cache")
    json: bool = flag("print one JSON object")


def show_cache(arguments: CacheArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code."""
    folder = disk.place()
    if folder is None:
        if arguments.json:
            put({"folder": None, "files": 0, "bytes": 0, "limit": disk.limit(), "not_used": "the cache is off"})
            return SUCCESS
        write(f"the cache is off: {disk.FOLDER} says so, or there is no home folder\n")
        return SUCCESS
    if arguments.clear:
        disk.clear(folder)
    kept, reason = disk.files(folder), disk.refusal(folder)
    size = sum(file.size for file in kept)
    if arguments.json:
        found = {"folder": str(folder), "files": len(kept), "bytes": size, "limit": disk.limit(), "not_used": reason}
        put(found)
        return SUCCESS
    rows = [
        ("folder", str(folder)),
        ("files", f"{len(kept):,}"),
        ("size", f"{size:,} bytes"),
        ("limit", f"{disk.limit():,} bytes"),
    ]
    if reason is not None:
        rows.append(("not used", reason))
    write("\n".join(table_lines(rows)) + "\n")
    return SUCCESS


CACHE = Command(
    CacheArguments,
    show_cache,
    description="Show the folder of the cache on disk, and its size. It keeps machine code, and tables of "
    "elementary functions. The folder is not used if another user owns it or may write there. The "
    "environment variable HALFULP_CACHE names another folder, or is off; HALFULP_CACHE_SIZE is the limit, as in 500M.",
)
