"""Arrays whose headers lie, hold Python objects, or unpack to gigabytes: refused by each command that reads arrays."""

import os
import pickle
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from command import Command
from every_command import DOT, prepare


def npy(descr: object, shape: object, data: bytes = b"") -> bytes:
    """Return a .npy file of version 1.0 with this header."""
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


class Planted:
    """What makes a folder where it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, ("planted",)


ARRAYS: Mapping[str, bytes] = {
    "huge": npy("<f4", (1 << 40,)),
    "negative": npy("<f4", (-1,)),
    "negative twice": npy("<f4", (-2, -4), bytes(32)),
    "product that overflows": npy("<f4", (1 << 62, 1 << 62)),
    "nothing of much": npy("<f4", (0, 1 << 62)),
    "many dimensions": npy("<f4", (1,) * 100, bytes(4)),
    "objects": npy("|O", (1,), pickle.dumps([Planted()])),
    "objects in fields": npy([("a", "|O")], (1,), pickle.dumps(Planted())),
    "expression": npy("<f4", "__import__('os').mkdir('planted')"),
    "wide elements": npy("|V1000000000", (1,)),
    "wide strings": npy("<U1000000000", (1000,)),
    "header of 4 GB": b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xFFFFFFFF),
    "deep header": b"\x93NUMPY\x01\x00" + struct.pack("<H", 60000) + b"(" * 60000,
    "pickle": pickle.dumps(Planted()),
}


def write_files(folder: Path) -> list[Path]:
    """Write the arrays as .npy and in .npz, a bomb, and an .npz whose directory lies."""
    for name, data in ARRAYS.items():
        (folder / f"{name}.npy").write_bytes(data)
        with zipfile.ZipFile(folder / f"{name}.npz", "w") as archive:
            for member in ("a.npy", "header.npy", "a"):
                archive.writestr(member, data)
    with (
        zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("a.npy", "w", force_zip64=True) as file,
    ):
        file.write(npy("<f4", (1 << 28,)))
        for _ in range(1024):
            file.write(bytes(1 << 20))
    lying = bytearray((folder / "negative.npz").read_bytes())
    sizes = lying.rfind(b"PK\x01\x02") + 20
    lying[sizes : sizes + 8] = b"\xff\xff\xff\x7f" * 2
    (folder / "lying.npz").write_bytes(bytes(lying))
    return sorted([*folder.glob("*.npy"), *folder.glob("*.npz")])


@pytest.mark.long
def test_every_reader(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(prepare(tmp_path / "here"))
    for path in write_files(Path()):
        kind = path.suffix[1:]
        for words in (
            ("eval", "arith.addf", f"--input=f32=@{path}", "--input=f32=1"),
            ("vectors", "check", str(path), "--metadata=set.json"),
            ("vectors", "make", "arith.addf", "--type=f32", "-n2", f"--operands={kind}={path}"),
            ("vectors", "make", "arith.addf", "--type=f32", "-n2", f"--operands={path}"),
            ("verify", "arith.addf", "--type=f8E4M3FN", f"--against={kind}={path}"),
            ("verify", "--ulp", "math.exp", "--type=f16", f"--against=./{path}"),
            ("explain", "dot", DOT, f"--a=@{path}", "--b=1 0*15"),
            ("explain", "dot", "--which", f"--rows={path}"),
        ):
            code, out, err = command(*words)
            assert code in (2, 3), (words, code, err)
            assert "Traceback" not in out + err
            assert not Path("planted").exists(), words


@pytest.mark.parametrize("name", ["objects", "negative twice", "huge"])
def test_inputs(name: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.npy").write_bytes(ARRAYS[name])
    for words in (
        ("eval", "arith.addf", "--input=f32=@x.npy", "--input=f32=1"),
        ("verify", "--ulp", "math.exp", "--type=f16", "--against=./x.npy"),
    ):
        code, _, err = command(*words)
        assert (code, "Traceback" in err) == (2, False), err
    assert not Path("planted").exists()
