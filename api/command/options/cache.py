"""The options of ``halfulp cache``."""

from __future__ import annotations

from dataclasses import dataclass

from halfulp.command.option import CommandHelp
from halfulp.described import option


@dataclass(frozen=True, kw_only=True)
class CacheArguments:
    """The options of ``halfulp cache``."""

    clear: bool = option("--clear", action="store_true", help="remove the files of the cache")


COMMAND = CommandHelp(
    CacheArguments,
    description="Show the folder of the cache on disk, and its size. It keeps tables of elementary functions. The "
    "environment variable HALFULP_CACHE is another folder, or off; HALFULP_CACHE_SIZE is the limit, such as 500M.",
)
