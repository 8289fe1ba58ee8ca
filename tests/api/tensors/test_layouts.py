"""Files of safetensors and gguf: what they hold, and what damaged ones give."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import each_row
from tensor_files import Q8, gguf, text

import halfulp as hu
from halfulp.interp.arrays.layouts import SAFETENSORS, read_safetensors
from halfulp.interp.ir.types import TensorType
from halfulp.tensors.gguf import read_gguf

# What safetensors 0.8 writes for {"b": f32 [[1, 2]], "a": i8 [1, 2, 3], "h": f16 [1.5]}.
WRITTEN = bytes.fromhex(
    "a8000000000000007b2262223a7b226474797065223a22463332222c227368617065223a5b312c325d2c22646174615f6f666673657473223a5b"
    "302c385d7d2c2268223a7b226474797065223a22463136222c227368617065223a5b315d2c22646174615f6f666673657473223a5b382c31305d"
    "7d2c2261223a7b226474797065223a224938222c227368617065223a5b335d2c22646174615f6f666673657473223a5b31302c31335d7d7d2020"
    "20200000803f00000040003e010203"
)


def safetensors(header: Any, data: bytes = b"") -> bytes:
    """Return a file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def row(dtype: str, shape: list[int], *place: int) -> dict[str, Any]:
    """Return the row of a tensor in a header."""
    return {"dtype": dtype, "shape": shape, "data_offsets": list(place)}


def test_a_file_of_the_library_is_read_and_written() -> None:
    entries = read_safetensors(memoryview(WRITTEN))
    found = {name: entry.read() for name, entry in entries.items()}
    assert {name: str(value) for name, value in found.items()} == {
        "b": "Value(1x2xf32=[1 2])",
        "h": "Value(1xf16=1.5)",
        "a": "Value(3xi8=1 2 3)",
    }


def test_what_is_written_is_what_the_library_writes(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    hu.write_tensors(
        path, {"a": np.array([1, 2, 3], np.int8), "h": np.array([1.5], np.float16), "b": np.array([[1, 2]], np.float32)}
    )
    assert path.read_bytes() == WRITTEN


@pytest.mark.parametrize("dtype", list(SAFETENSORS))
def test_each_dtype_comes_back(dtype: str, tmp_path: Path) -> None:
    element = SAFETENSORS[dtype].element
    codes = np.arange(8, dtype=hu.Value.from_bits([0] * 8, "f32").bits.dtype) if dtype == "C64" else None
    if codes is not None:
        value = hu.Value(TensorType((4,), element), codes.reshape(4, 2))
    else:
        value = hu.Value.from_bits(np.arange(8) % 2 if dtype == "BOOL" else np.arange(8), element)
        value = hu.Value(value.type, value.bits, unsigned=SAFETENSORS[dtype].unsigned)
    path = tmp_path / "x.safetensors"
    hu.write_tensors(path, {"x": value})
    opened = hu.open_tensors(path)
    assert opened.formats == {"x": dtype}
    assert opened["x"] == value
    assert opened["x"].unsigned == value.unsigned  # type: ignore[union-attr]


def test_small_floats_are_packed_from_the_lowest_bits_on() -> None:
    header = {"x": row("F4", [2], 0, 1), "y": row("F6_E2M3", [4], 1, 4)}
    entries = read_safetensors(memoryview(safetensors(header, bytes([0x21, 0x41, 0x20, 0x0C]))))
    # 0x0C2041 in binary has the fields 000011 000010 000001 000001.
    assert [entries[name].read().bits.tolist() for name in "xy"] == [[1, 2], [1, 1, 2, 3]]


F32 = row("F32", [1], 0, 4)
DAMAGED = (
    (b"", "shorter than the 8 bytes"),
    (safetensors({})[:9], "its header has 2 bytes, but the file has 9"),
    (struct.pack("<Q", 1 << 60) + b"{}", "its header has 1152921504606846976 bytes"),
    (safetensors(b"[]"), "does not begin with '{'"),
    (safetensors(b"{x}"), "is not JSON"),
    (safetensors(b'{"a":' + b"[" * 200_000), "is not JSON"),
    (safetensors(b'{"a": 1, "a": 2}'), "a name is twice"),
    (safetensors({"a": 1}), "'a' lacks its dtype"),
    (safetensors({"a": row("F32", [-1], 0, 4)}, bytes(4)), "'a' lacks its dtype"),
    (safetensors({"a": row("F32", [1], 0, True)}, bytes(4)), "'a' lacks its dtype"),
    (safetensors({"a": row("F33", [1], 0, 4)}, bytes(4)), "unknown dtype 'F33'\nhint: did you mean `F32`"),
    (safetensors({"a": row("F32", [2], 0, 4)}, bytes(4)), "2 of F32, has 64 bits, but its data is bytes 0 to 4 of 4"),
    (safetensors({"a": row("F4", [3], 0, 2)}, bytes(2)), "has 12 bits"),
    (safetensors({"a": row("F32", [1 << 62, 0], 0, 0)}), "a shape that is too large"),
    (safetensors({"a": F32, "b": F32}, bytes(4)), "the data of 'b' begins at byte 0, but must at 4"),
    (safetensors({"a": row("F32", [1], 4, 8)}, bytes(8)), "the data of 'a' begins at byte 4"),
    (safetensors({"a": F32}, bytes(5)), "its tensors have 4 bytes, but the data has 5"),
)


@each_row(*DAMAGED)
def test_damaged_safetensors(data: bytes, message: str) -> None:
    with pytest.raises(hu.errors.InputError) as caught:
        read_safetensors(memoryview(data))
    assert message in str(caught.value)


def test_gguf_with_metadata() -> None:
    pairs = text("a") + struct.pack("<II", 4, 7) + text("words") + struct.pack("<IIQ", 9, 8, 2) + text("x") + text("yy")
    pairs += text("general.alignment") + struct.pack("<II", 4, 32)
    data = gguf(
        ("q", (32, 1), 8, Q8), ("f", (2,), 30, b"\x80\x3f\x00\x40"), ("i", (64,), 20, b""), metadata=pairs, pairs=3
    )
    entries = read_gguf(memoryview(data))
    assert {name: (entry.format, str(entry.type)) for name, entry in entries.items()} == {
        "q": ("Q8_0", "tensor<1x32xf32>"),
        "f": ("BF16", "tensor<2xbf16>"),
        "i": ("IQ4_NL", "None"),
    }
    assert entries["q"].read().dequantize().tolist() == [[k / 2 for k in range(32)]]  # type: ignore[union-attr]
    assert str(entries["f"].read()) == "Value(2xbf16=1 2)"
    with pytest.raises(hu.Unsupported, match=r"blocks of IQ4_NL[\s\S]*it reads Q4_0"):
        entries["i"].read()


HEAD = b"GGUF" + struct.pack("<I", 3)
DAMAGED_GGUF = (
    (b"GGUG", "does not begin with GGUF"),
    (b"GGUF" + struct.pack("<I", 1), "its version is 1"),
    (HEAD + struct.pack("<QQ", 1 << 60, 0), "cut short"),
    (HEAD + struct.pack("<QQ", 0, 1 << 60), "cut short"),
    (HEAD + struct.pack("<QQQ", 0, 1, 1 << 63), "9223372036854775808 bytes are promised at byte 32 of 32"),
    (HEAD + struct.pack("<QQ", 0, 1) + text("a") + struct.pack("<I", 13), "the unknown type 13"),
    (HEAD + struct.pack("<QQ", 0, 1) + text("a") + struct.pack("<IIQ", 9, 4, 1 << 62), "cut short"),
    (HEAD + struct.pack("<QQ", 0, 1) + text("a") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 9, "unknown type"),
    (gguf(metadata=text("general.alignment") + struct.pack("<II", 4, 3), pairs=1), "its alignment is 3"),
    (gguf(("a", (1, 1, 1, 1, 1), 0, b"")), "'a' has 5 dimensions"),
    (gguf(("a", (1 << 40, 1 << 40), 0, b"")), "a shape that is too large"),
    (gguf(("a", (1,), 99, b"")), "the unknown type 99"),
    (gguf(("a", (31,), 8, b"")), "rows of (31,) elements, but Q8_0 has 32"),
    (gguf(("a", (32,), 8, Q8))[:-31], "'a' ends at byte"),
    (gguf(("a", (1,), 0, bytes(4)), ("a", (1,), 0, bytes(4))), "two tensors have the name 'a'"),
)


@each_row(*DAMAGED_GGUF)
def test_damaged_gguf(data: bytes, message: str) -> None:
    with pytest.raises(hu.errors.InputError) as caught:
        read_gguf(memoryview(data))
    assert message in str(caught.value)


def test_gguf_in_the_other_byte_order() -> None:
    with pytest.raises(hu.Unsupported, match="highest bytes first"):
        read_gguf(memoryview(b"GGUF" + struct.pack(">I", 3) + bytes(16)))


def damage(data: bytes, random: np.random.Generator) -> bytes:
    """Return a file with one to three of its bytes changed, moved, removed or replaced by a large number."""
    changed = bytearray(data)
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(0, len(changed) + 1))
        match int(random.integers(0, 5)):
            case 0:
                changed[at : at + 1] = bytes([int(random.integers(0, 256))])
            case 1:
                del changed[at:]
            case 2:
                large = (2**63 - 1, 2**64 - 1, 2**32, 2**40, 0)[int(random.integers(0, 5))]
                changed[at : at + 8] = large.to_bytes(8, "little")
            case 3:
                changed[at:at] = bytes(random.integers(0, 256, 3, dtype=np.uint8))
            case _:
                start = int(random.integers(0, len(changed) + 1))
                changed[at : at + 8] = changed[start : start + 8]
    return bytes(changed)


SMALL = gguf(("a", (32, 2), 8, Q8 * 2), ("b", (256,), 12, bytes(144)), ("c", (4,), 1, bytes(8)))


@pytest.mark.parametrize("count", [200, pytest.param(20_000, marks=pytest.mark.long)])
def test_random_damage_gives_halfulp_errors_alone(count: int) -> None:
    random = np.random.default_rng(9)
    for read, data in ((read_safetensors, WRITTEN), (read_gguf, SMALL)):
        refused = 0
        for _ in range(count):
            try:
                for entry in read(memoryview(damage(data, random))).values():
                    entry.read()
            except hu.HalfulpError:
                refused += 1
        assert count // 4 < refused <= count
