"""The cache on disk: its place, its limit, and that nothing which happens to its files changes a result."""

import multiprocessing
import os
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from command import PATIENCE

from halfulp.fp_formats.paths import disk

PAYLOAD = bytes(range(256)) * 4


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the cache, which does not exist yet."""
    found = tmp_path / "deep" / "cache"
    monkeypatch.setenv(disk.FOLDER, str(found))
    monkeypatch.delenv(disk.LIMIT, raising=False)
    monkeypatch.setattr(disk, "_unwritable", set())
    monkeypatch.setattr(disk, "_refused", set())
    monkeypatch.setattr(disk, "_room", {})
    return found


def only_file(folder: Path) -> Path:
    (kept,) = disk.files(folder)
    return kept.path


def test_the_tests_never_write_into_the_folder_of_the_user() -> None:
    """Only conftest.py can have set the variable for the processes that tests start."""
    assert disk.place({}) != disk.place()
    assert os.environ[disk.FOLDER]


@pytest.mark.parametrize(
    ("environment", "platform", "wanted"),
    [
        ({}, "linux", "~/.cache/halfulp"),
        ({"XDG_CACHE_HOME": "/var/tmp/x"}, "linux", "/var/tmp/x/halfulp"),
        ({"XDG_CACHE_HOME": "relative"}, "linux", "~/.cache/halfulp"),
        ({}, "darwin", "~/Library/Caches/halfulp"),
        ({"LOCALAPPDATA": "/c/Users/me/AppData/Local"}, "win32", "/c/Users/me/AppData/Local/halfulp"),
        ({"HALFULP_CACHE": "/elsewhere"}, "win32", "/elsewhere"),
        ({"HALFULP_CACHE": "~/mine", "XDG_CACHE_HOME": "/var/tmp/x"}, "linux", "~/mine"),
        ({"HALFULP_CACHE": ""}, "linux", "~/.cache/halfulp"),
    ],
)
def test_the_place_follows_the_platform(environment: dict[str, str], platform: str, wanted: str) -> None:
    assert disk.place(environment, platform) == Path(wanted).expanduser()


@pytest.mark.parametrize("word", ["off", "OFF"])
def test_off_keeps_nothing(word: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk.FOLDER, word)
    disk.store("key", PAYLOAD)
    assert disk.place() is None
    assert disk.load("key", len(PAYLOAD)) is None
    assert not folder.exists()


def test_windows_without_a_profile_has_no_place() -> None:
    assert disk.place({}, "win32") is None


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", disk.SIZE),
        ("0", 0),
        ("1000", 1000),
        ("10k", 10 << 10),
        ("500M", 500 << 20),
        ("2g", 2 << 30),
        ("1GiB", 1 << 30),
    ],
)
def test_the_limit_is_a_size(text: str, size: int) -> None:
    assert disk.limit({disk.LIMIT: text}) == size


@pytest.mark.parametrize("text", ["many", "-1", "1.5G", "9" * 30, "5X"])
def test_a_limit_that_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"HALFULP_CACHE_SIZE is '.*', but must be a size in bytes, such as 500M or 2G"
    ):
        disk.limit({disk.LIMIT: text})


def test_what_is_stored_is_loaded_under_its_key_alone(folder: Path) -> None:
    assert disk.load("key", len(PAYLOAD)) is None
    disk.store("key", PAYLOAD)
    assert disk.load("key", len(PAYLOAD)) == PAYLOAD
    assert disk.load("another key", len(PAYLOAD)) is None
    disk.store("key", PAYLOAD[::-1])
    assert disk.load("key", len(PAYLOAD)) == PAYLOAD[::-1]
    assert len(disk.files(folder)) == 1
    if sys.platform != "win32":
        assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "cut": lambda whole: whole[:-1],
    "longer": lambda whole: whole + b"\0",
    "one bit of the payload": lambda whole: whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:],
    "one bit of the key": lambda whole: whole.replace(b"key", b"kex"),
    "one bit of the digest": lambda whole: whole[:20] + bytes([whole[20] ^ 128]) + whole[21:],
    "another kind of file": lambda whole: b"#!/bin/sh\n".ljust(len(whole), b"x"),
    "zeros": lambda whole: bytes(len(whole)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_noticed_and_made_again(damage: str, folder: Path) -> None:
    disk.store("key", PAYLOAD)
    path = only_file(folder)
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    assert path.read_bytes() != whole
    assert disk.load("key", len(PAYLOAD)) is None
    assert not path.exists()
    disk.store("key", PAYLOAD)
    assert disk.load("key", len(PAYLOAD)) == PAYLOAD


def test_the_file_of_another_key_under_this_name_is_not_trusted(folder: Path) -> None:
    disk.store("key", PAYLOAD)
    mine = only_file(folder)
    disk.store("kez", PAYLOAD[::-1])
    (other,) = (kept.path for kept in disk.files(folder) if kept.path != mine)
    os.replace(other, mine)
    assert disk.load("key", len(PAYLOAD)) is None


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_is_not_a_file_is_left_alone(kind: str, folder: Path, tmp_path: Path) -> None:
    disk.store("key", PAYLOAD)
    path = only_file(folder)
    target = tmp_path / "target"
    path.rename(target)
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to(target)
    assert disk.load("key", len(PAYLOAD)) is None
    disk.store("key", PAYLOAD)
    assert disk.load("key", len(PAYLOAD)) == (None if kind == "folder" else PAYLOAD)
    assert target.exists()


def planted(path: Path, mode: int, owner: int | None) -> None:
    path.chmod(mode)
    if owner is not None:
        os.chown(path, owner, -1)


OTHERS = [
    pytest.param(0o770, None, "can be written by other users: run chmod go-w", id="group"),
    pytest.param(0o703, None, "can be written by other users", id="others"),
    pytest.param(
        0o700,
        12345,
        "belongs to another user \\(12345\\), who could put machine code there",
        id="owner",
        marks=pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"),
    ),
]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize(("mode", "owner", "reason"), OTHERS)
def test_a_folder_that_others_can_write_is_refused_once(
    mode: int, owner: int | None, reason: str, folder: Path
) -> None:
    disk.store("key", PAYLOAD)
    assert disk.refusal(folder) is None
    planted(folder, mode, owner)
    with pytest.warns(RuntimeWarning, match=f"the cache on disk is not used: .*{reason}"):
        assert disk.load("key", len(PAYLOAD)) is None
    disk.store("another", PAYLOAD)  # and it is said no second time
    assert len(disk.files(folder)) == 1
    assert disk.refusal(folder) is not None
    planted(folder, 0o700, None if owner is None else os.geteuid())
    assert disk.load("key", len(PAYLOAD)) == PAYLOAD


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
@pytest.mark.parametrize(("mode", "owner", "reason"), OTHERS)
def test_a_file_that_others_can_write_is_not_read(mode: int, owner: int | None, reason: str, folder: Path) -> None:
    disk.store("key", PAYLOAD)
    assert stat.S_IMODE(only_file(folder).stat().st_mode) == 0o600
    planted(only_file(folder), mode, owner)
    assert disk.load("key", len(PAYLOAD)) is None
    disk.store("key", PAYLOAD)  # replaces it by one of our own
    assert disk.load("key", len(PAYLOAD)) == PAYLOAD


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_files_of_another_user_have_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = disk._version.__wrapped__()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert disk._version.__wrapped__() != mine


def test_another_version_of_the_source_has_its_own_files(monkeypatch: pytest.MonkeyPatch) -> None:
    disk.store("key", PAYLOAD)
    monkeypatch.setattr(disk, "_version", lambda: "another one")
    assert disk.load("key", len(PAYLOAD)) is None


def test_the_version_is_that_of_the_whole_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "fp_formats"
    (source / "paths").mkdir(parents=True)
    (source / "reals").mkdir()
    (source / "reals" / "functions.py").write_text("HALF = 2\n")
    monkeypatch.setattr(disk, "__file__", str(source / "paths" / "disk.py"))
    versions = []
    for text in ("HALF = 2\n", "HALF = 3\n", "HALF = 2\n"):
        (source / "reals" / "functions.py").write_text(text)
        versions.append(disk._version.__wrapped__())
    assert versions[0] == versions[2] != versions[1]
    (source / "reals" / "functions.py").unlink()
    assert disk._version.__wrapped__() is None  # a package whose source cannot be read: nothing is kept


def test_the_least_recently_used_files_are_dropped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.store("key 0", PAYLOAD)
    size = only_file(folder).stat().st_size
    monkeypatch.setenv(disk.LIMIT, str(7 * size // 2))
    for number in (1, 2):
        disk.store(f"key {number}", PAYLOAD)
    for age, kept in enumerate(disk.files(folder)):
        os.utime(kept.path, (1e9 + age, 1e9 + age))
    ages = {number: disk._path(f"key {number}") for number in range(3)}
    for number, path in ages.items():
        assert path is not None
        os.utime(path, (1e9 + number, 1e9 + number))
    assert disk.load("key 0", len(PAYLOAD)) == PAYLOAD  # it was used just now
    disk.store("key 3", PAYLOAD)
    assert [number for number in range(4) if disk.load(f"key {number}", len(PAYLOAD))] == [0, 2, 3]


def test_a_folder_is_looked_at_sixteen_times_while_its_limit_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, files = [], disk.files

    def counted(found: Path) -> list[disk.CachedFile]:
        looks.append(found)
        return files(found)

    monkeypatch.setattr(disk, "files", counted)
    disk.store("key", PAYLOAD)
    size = files(folder)[0].size
    monkeypatch.setenv(disk.LIMIT, str(160 * size))
    for number in range(200):
        disk.store(f"key {number:03}", PAYLOAD)
        assert sum(kept.size for kept in files(folder)) <= 160 * (size + 4)
    assert 16 <= len(looks) <= 30


def test_more_than_the_limit_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk.LIMIT, "1000")
    disk.store("key", PAYLOAD)
    assert not folder.exists()


def test_files_of_others_are_never_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    others = [folder / name for name in ("notes.txt", "x.kept", "0" * 40 + ".kept.bak")]
    for path in others:
        path.write_bytes(bytes(5000))
    disk.store("key", PAYLOAD)
    monkeypatch.setenv(disk.LIMIT, "1500")
    disk.store("another", PAYLOAD)
    assert len(disk.files(folder)) == 1
    assert disk.clear(folder) == 1
    assert all(path.exists() for path in others)


def test_parts_of_killed_processes_are_removed_later(folder: Path) -> None:
    disk.store("key", PAYLOAD)
    path = only_file(folder)
    young, old = (path.with_name(f"{path.stem}.{word}.part") for word in ("young", "old"))
    for part in (young, old):
        part.write_bytes(b"half a file")
    hours_ago = time.time() - 7200
    os.utime(old, (hours_ago, hours_ago))
    disk._room.clear()  # as in another process
    disk.store("another", PAYLOAD)
    assert young.exists()
    assert not old.exists()


def test_a_folder_that_cannot_be_made_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert disk.refusal(blocked) == f"{blocked} is not a folder"
    monkeypatch.setenv(disk.FOLDER, str(blocked / "cache"))
    disk.store("key", PAYLOAD)
    assert disk.load("key", len(PAYLOAD)) is None
    assert disk.files(blocked / "cache") == []
    monkeypatch.setattr(Path, "mkdir", None)  # a second attempt would fail here
    disk.store("key", PAYLOAD)


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    disk.store("key", PAYLOAD)
    assert list(folder.iterdir()) == []


def test_an_interrupted_write_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(source: str, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        disk.store("key", PAYLOAD)
    assert list(folder.iterdir()) == []


def work(number: int) -> int:
    """Store and load the same keys as other processes do; return the count of wrong payloads."""
    wrong = 0
    for turn in range(60):
        key = f"key {(turn + number) % 5}"
        disk.store(key, key.encode() * 500)
        found = disk.load(key, 2500)
        wrong += found not in (None, key.encode() * 500)
    return wrong


@pytest.mark.long
def test_several_processes_share_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk.LIMIT, "9000")  # files are dropped while others read them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of JAX, where another test has imported it
        with multiprocessing.get_context("fork").Pool(3) as pool:
            assert pool.map(work, range(3)) == [0, 0, 0]
    assert 1 <= len(disk.files(folder)) <= 3


@pytest.mark.long
def test_programs_give_the_same_results_without_a_cache(folder: Path) -> None:
    program = (
        "import numpy as np\n"
        "from halfulp.fp_formats.formats import FORMATS\n"
        "from halfulp.fp_formats.paths import elementary\n"
        "codes = np.arange(1 << 16, dtype=np.uint16)\n"
        "print(hash(elementary.unary('exp', FORMATS['bf16'], codes).codes.tobytes()))\n"
    )

    def run(cache: str) -> str:
        environment = {**os.environ, disk.FOLDER: cache, "PYTHONHASHSEED": "1"}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True)
        assert done.stderr == ""
        return done.stdout

    wanted = run(str(folder))
    path = only_file(folder)
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    assert run(str(folder)) == wanted
    assert run("/proc/nowhere") == wanted
