"""``halfulp cache``: the folder, its size, and clearing it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_calls import Command

from halfulp.fp_formats.paths import disk


def test_the_cache_is_shown_and_cleared(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk.FOLDER, str(tmp_path))
    monkeypatch.setenv(disk.LIMIT, "1M")
    (tmp_path / "notes.txt").write_text("not a file of the cache")
    disk.store("key", bytes(1000))
    (kept,) = disk.files(tmp_path)
    lines = [f"folder  {tmp_path}", "files   1", f"size    {kept.size:,} bytes", "limit   1,048,576 bytes"]
    assert command("cache") == (0, "\n".join(lines) + "\n", "")
    lines[1:3] = ["files   0", "size    0 bytes"]
    assert command("cache", "--clear") == (0, "\n".join(lines) + "\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_cache_that_is_off_is_no_error(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk.FOLDER, "off")
    assert command("cache") == (0, "the cache is off: HALFULP_CACHE says so, or there is no home folder\n", "")


def test_a_wrong_limit_is_an_error_of_use(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk.LIMIT, "lots")
    code, out, err = command("formats")
    assert (code, out) == (2, "")
    assert err == "error: HALFULP_CACHE_SIZE is 'lots', but must be a size in bytes, such as 500M or 2G\n"
