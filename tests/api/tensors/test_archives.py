""".npz files, and files of torch.save, which are read without torch."""

import base64
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tables import each_row

import halfulp as hu
from halfulp.interp.arrays.archives import read_npz
from halfulp.tensors.torch_files import read_torch

# data.pkl of torch 2.13 for {"w": 2x3, "t": w.t()[1:], "f8": f8E4M3FN, "opt": {"step": 3, "m": [bf16]}}.
PICKLE = base64.b64decode(
    "gAJ9cQAoWAEAAAB3cQFjdG9yY2guX3V0aWxzCl9yZWJ1aWxkX3RlbnNvcl92MgpxAigoWAcAAABzdG9yYWdlcQNjdG9yY2gKRmxvYXRTdG9yYWdl"
    "CnEEWAEAAAAwcQVYAwAAAGNwdXEGSwZ0cQdRSwBLAksDhnEISwNLAYZxCYljY29sbGVjdGlvbnMKT3JkZXJlZERpY3QKcQopUnELdHEMUnENWAEA"
    "AAB0cQ5oAigoaANoBGgFaAZLBnRxD1FLAUsCSwKGcRBLAUsDhnERiWgKKVJxEnRxE1JxFFgCAAAAZjhxFWN0b3JjaC5fdXRpbHMKX3JlYnVpbGRf"
    "dGVuc29yX3YzCnEWKChoA2N0b3JjaC5zdG9yYWdlClVudHlwZWRTdG9yYWdlCnEXWAEAAAAxcRhoBksCdHEZUUsASwKFcRpLAYVxG4loCilScRxj"
    "dG9yY2gKZmxvYXQ4X2U0bTNmbgpxHXRxHlJxH1gDAAAAb3B0cSB9cSEoWAQAAABzdGVwcSJLA1gBAAAAbXEjXXEkaAIoKGgDY3RvcmNoCkJGbG9h"
    "dDE2U3RvcmFnZQpxJVgBAAAAMnEmaAZLAXRxJ1FLACkpiWgKKVJxKHRxKVJxKmF1dS4="
)
STORED = {"data/0": np.arange(6, dtype=np.float32).tobytes(), "data/1": b"\x3c\xc0", "data/2": b"\x00\x3f"}


def archive(members: dict[str, bytes], folder: str = "archive/") -> memoryview:
    """Return a zip archive, as torch and NumPy make it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, data in members.items():
            file.writestr(folder + name, data)
    return memoryview(stream.getvalue())


def test_a_file_of_torch() -> None:
    found = read_torch(archive({"data.pkl": PICKLE, "byteorder": b"little", **STORED}))
    assert {name: (entry.format, str(entry.read())) for name, entry in found.items()} == {
        "w": ("float32", "Value(2x3xf32=[0 1 2][3 4 5])"),
        "t": ("float32", "Value(2x2xf32=[1 4][2 5])"),
        "f8": ("float8_e4m3fn", "Value(2xf8E4M3FN=1.5 -2)"),
        "opt.m.0": ("bfloat16", "Value(bf16=0.5)"),
    }


class Harm:
    """An object whose pickle asks to call a function."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("harm",)


NESTED: list[object] = []
for _ in range(40):
    NESTED = [NESTED, NESTED]
REFUSED: tuple[tuple[dict[str, bytes], str], ...] = (
    ({"data.pkl": PICKLE}, "the data of the tensor 'w' is not in the file"),
    ({"data.pkl": PICKLE[:90]}, "data.pkl is damaged"),
    ({"data.pkl": b"\x80\x02]"}, "data.pkl is damaged"),
    ({"data.pkl": pickle.dumps(Harm(), 2)}, "makes an object of __builtin__.print, not only tensors"),
    ({"data.pkl": pickle.dumps(bytearray(4), 5)}, "the opcode BYTEARRAY8, which weights do not need"),
    ({"data.pkl": pickle.dumps(NESTED, 2)}, "nested too deep"),
    ({"data.pkl": PICKLE, "byteorder": b"big"}, "highest bytes first"),
    ({}, "no data.pkl"),
)


@each_row(*REFUSED)
def test_refused_files_of_torch(members: dict[str, bytes], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(hu.HalfulpError) as caught:
        read_torch(archive(members))
    assert message in str(caught.value)
    assert capsys.readouterr().out == ""


def test_a_tensor_beyond_its_storage() -> None:
    found = read_torch(archive({"data.pkl": PICKLE, **STORED, "data/0": bytes(20)}))
    with pytest.raises(hu.errors.InputError, match="'w' ends after its storage"):
        found["w"].read()


@pytest.mark.torch
@pytest.mark.long
def test_the_files_that_torch_writes(tmp_path: Path) -> None:
    import torch

    x = torch.arange(12.0).reshape(3, 4)
    given = {
        "half": x.half(),
        "turned": x.t(),
        "parameter": torch.nn.Parameter(x),
        "u16": torch.arange(3).to(torch.uint16),
        "flag": torch.tensor([True, False]),
        "pairs": torch.arange(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
        "none": torch.zeros(0, 3),
        "complex": torch.zeros(2, dtype=torch.complex64),
    }
    torch.save(given, tmp_path / "x.pt")
    found = hu.open_tensors(tmp_path / "x.pt")
    assert list(found) == list(given)
    for name in list(given)[:-1]:
        assert found[name] == hu.convert(given[name].detach(), found[name].element_type), name  # type: ignore[union-attr]
    with pytest.raises(hu.Unsupported, match="elements of complex64"):
        found["complex"]
    torch.save(torch.nn.Linear(2, 3), tmp_path / "module.pt")
    with pytest.raises(hu.errors.InputError, match=r"torch.nn.modules.linear.Linear[\s\S]*state_dict"):
        hu.open_tensors(tmp_path / "module.pt")


def test_npz(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", x=x, turned=x.T, big=x.astype(">f4"), one=np.int8(5), text=np.array(["a"]))
        found = hu.open_tensors(tmp_path / "x.npz")
        assert [str(type_) for type_ in found.types.values()] == [
            "tensor<2x3xf32>", "tensor<3x2xf32>", "tensor<2x3xf32>", "i8", "None",
        ]  # fmt: skip
        for name in ("x", "turned", "big"):
            assert np.array_equal(found[name].numpy(), x.T if name == "turned" else x)  # type: ignore[union-attr]
            assert found[name].bits.flags.aligned  # type: ignore[union-attr]
        assert (str(found["one"]), found["text"].tolist()) == ("Value(i8=5)", ["a"])  # type: ignore[union-attr]


def npy(array: npt.NDArray[Any]) -> bytes:
    """Return the bytes of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


FOUR = npy(np.zeros(4, np.float32))
DAMAGED = (
    ({"a.npy": FOUR[:-1]}, "its header promises 16 bytes of data, 15 are there"),
    ({"a.npy": FOUR.replace(b"(4,), }          ", b"(1000000000000,),}")}, "promises 4000000000000 bytes"),
    ({"a.npy": b"no"}, "'a' is not a readable .npy file"),
    ({"a.npy": npy(np.array([None]))}, "'a' holds Python objects"),
)


@each_row(*DAMAGED)
def test_damaged_npz(members: dict[str, bytes], message: str) -> None:
    with pytest.raises(hu.errors.InputError) as caught:
        read_npz(archive(members, ""))["a"].read()
    assert message in str(caught.value)


def test_an_archive_that_is_none() -> None:
    with pytest.raises(hu.errors.InputError, match="not a readable zip archive"):
        read_npz(memoryview(b"PK\3\4no"))


def test_a_changed_byte_of_an_npz_is_an_error() -> None:
    stream = io.BytesIO()
    np.savez(stream, x=np.zeros((256, 256), np.float32))  # longer than what is read for the header
    data = bytearray(stream.getvalue())
    data[200_000] ^= 1
    with pytest.raises(hu.errors.InputError, match=r"'x.npy' is damaged: its bytes have another checksum"):
        read_npz(memoryview(data))["x"].read()
