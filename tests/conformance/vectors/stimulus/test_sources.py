"""Sources of operands: files of arrays and of text, and distributions, against exact arithmetic and NumPy itself."""

import io
import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amounts import thinned
from present import present

from halfulp.conformance.vectors.columns import Column, Role
from halfulp.conformance.vectors.stimulus import elements
from halfulp.conformance.vectors.stimulus.arrays import named_array, read_arrays
from halfulp.conformance.vectors.stimulus.elements import Fitting, codes_of_elements, rounded_numbers
from halfulp.conformance.vectors.stimulus.grammar import AT_ONCE, LAWS, POWER, Distribution
from halfulp.conformance.vectors.stimulus.mixture import Mixture, Target
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.arrays import archives
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, TypeMismatch
from halfulp.interp.ir.types import element_width
from halfulp.interp.values.coerce import as_type

AS_IT_IS = Fitting()
NEAREST = Fitting(Rounding.TO_NEAREST_EVEN)


def target(*types: str) -> Target:
    columns = []
    for name, spelling in zip("abc", types, strict=False):
        width = present(element_width(as_type(spelling)))
        columns.append(Column(name, width, spelling, Role.OPERAND))
    return Target(tuple(columns), tuple(map(as_type, types)))


def columns(spelling: str, *types: str, n: int | None = None, seed: int = 0) -> list[list[int]]:
    rows = Mixture.named(spelling).rows(target(*types), seed, n)
    return [codes.tolist() for codes in rows.part(0, rows.count)]


def usual(name: str, **parameters: float) -> Distribution:
    return Distribution(name, tuple({**LAWS[name].parameters, **parameters}.items()))


# --- distributions ----------------------------------------------------------------------------------------------------


def test_numbers_are_those_of_numpy() -> None:
    """RandomState's streams are frozen: these numbers were recorded with NumPy 2.4.6."""
    source = np.random.RandomState(np.random.Philox(key=7 | 5 << 64, counter=0))
    assert np.array_equal(usual("normal", loc=1, scale=2).draw(7, 5, 0, 4), source.normal(1, 2, 4))
    recorded = [round(float(x), 9) for x in usual("normal").draw(0, 0, 0, 4)]
    assert recorded == RECORDED["normal"]
    assert [round(float(x), 9) for x in usual("student_t").draw(0, 0, 0, 4)] == RECORDED["student_t"]


RECORDED: Mapping[str, list[float]] = {
    "normal": [0.159757459, -0.963719359, -1.800006261, 0.019259937],
    "student_t": [0.307595987, 0.098938662, -1.197544793, 0.420090076],
}


@pytest.mark.parametrize("name", list(LAWS))
def test_any_stretch_has_the_numbers_of_the_whole(name: str) -> None:
    law = usual(name)
    whole = law.draw(3, 9, 0, 2 * AT_ONCE + 50)
    for start, count in ((0, 1), (AT_ONCE - 1, 3), (AT_ONCE, AT_ONCE), (2 * AT_ONCE + 7, 40), (5, 0)):
        assert np.array_equal(law.draw(3, 9, start, count), whole[start : start + count])
    assert not np.array_equal(law.draw(4, 9, 0, 50), whole[:50])
    assert not np.array_equal(law.draw(3, 10, 0, 50), whole[:50])


@pytest.mark.parametrize(
    ("name", "parameters", "mean", "deviation"),
    [
        ("normal", {"loc": 3, "scale": 2}, 3, 2),
        ("lognormal", {"mean": 0, "sigma": 0.5}, np.exp(0.125), np.sqrt((np.exp(0.25) - 1) * np.exp(0.25))),
        ("uniform", {"low": -1, "high": 3}, 1, 4 / np.sqrt(12)),
        ("student_t", {"df": 10, "loc": 1, "scale": 2}, 1, 2 * np.sqrt(10 / 8)),
        ("laplace", {"loc": 1, "scale": 2}, 1, 2 * np.sqrt(2)),
        ("exponential", {"scale": 2}, 2, 2),
        ("gamma", {"shape": 4, "scale": 2}, 8, 4),
        ("poisson", {"lam": 9}, 9, 3),
        ("binomial", {"n": 100, "p": 0.2}, 20, 4),
        ("triangular", {"left": -1, "mode": 0, "right": 1}, 0, np.sqrt(1 / 6)),
    ],
)
def test_moments_are_those_of_the_law(name: str, parameters: dict[str, float], mean: float, deviation: float) -> None:
    numbers = usual(name, **parameters).draw(1, 1, 0, 40_000)
    assert abs(numbers.mean() - mean) < 5 * deviation / 200
    assert abs(numbers.std() / deviation - 1) < 0.05


def test_numbers_too_large_for_numpy_are_refused() -> None:
    """Below some p, the numbers wrap around: they would be negative."""
    assert (usual("geometric", p=1e-9).draw(0, 0, 0, 1000) > 0).all()
    with pytest.raises(InputError, match="geometric does not take p=1e-300: p must be at least 1e-9"):
        usual("geometric", p=1e-300)


def test_powers_of_two() -> None:
    numbers = usual(POWER, low=-3, high=2).draw(0, 0, 0, 10_000)
    assert set(numbers.tolist()) == {2.0**k for k in range(-3, 3)}


@pytest.mark.parametrize("mode", ["to_nearest_even", "toward_zero", "upward"])
@pytest.mark.parametrize("name", ["f8E4M3FN", "bf16", "f64", "f4E2M1FN"])
def test_numbers_are_rounded_once(name: str, mode: str) -> None:
    found = columns(f"student_t:scale=3,round={mode}", name, n=500)[0]
    numbers = usual("student_t", scale=3).draw(0, 1 << 42, 0, 500)
    rounding = Rounding(["to_nearest_even", "downward", "upward", "toward_zero"].index(mode))
    for code, number in zip(found, numbers.tolist(), strict=True):
        assert code == scalar.from_fraction(FORMATS[name], Fraction(number), rounding).code


def test_numbers_of_integers_and_of_saturation() -> None:
    found = columns("normal:scale=60,saturate", "i8", n=2000)[0]
    numbers = usual("normal", scale=60).draw(0, 1 << 42, 0, 2000)
    assert found == [min(max(round(number), -128), 127) & 0xFF for number in numbers.tolist()]
    with pytest.raises(InputError, match="not within the range of i8") as error:
        columns("normal:scale=60", "i8", n=2000)
    assert error.value.hint == "to use the nearest integer of the type, add the option saturate, as in FILE:saturate"
    largest = FORMATS["f8E4M3FN"].max_code
    assert set(columns("uniform:low=1e4,high=2e4,saturate", "f8E4M3FN", n=9)[0]) == {largest}
    assert set(columns("uniform:low=1e4,high=2e4", "f8E4M3FN", n=9)[0]) == {FORMATS["f8E4M3FN"].nan_code}


def test_rows_of_a_block_share_a_factor_and_held_rows_a_number() -> None:
    plain = usual("normal").draw(0, 1 << 42, 0, 64)
    found = np.array(columns("normal:block=8,spread=5", "f64", n=64)[0], np.uint64).view(np.float64) / plain
    assert np.array_equal(found, np.repeat(found[::8], 8))
    exponents = np.log2(found[::8])
    assert len(set(exponents.tolist())) > 2
    assert all(exponent.is_integer() and abs(exponent) <= 5 for exponent in exponents.tolist())
    held = columns("normal:hold=16", "f64", n=64)[0]
    assert held == [code for code in held[::16] for _ in range(16)]
    assert len(set(held)) == 4
    # A part that begins within a block, and within a held number.
    for spelling in ("normal:block=8,spread=5", "normal:hold=16"):
        rows = Mixture.named(spelling).rows(target("f64"), 0, 64)
        assert rows.part(13, 50)[0].tolist() == rows.part(0, 64)[0].tolist()[13:50]


# --- arrays -----------------------------------------------------------------------------------------------------------


def write_safetensors(path: Path, tensors: Mapping[str, tuple[str, np.ndarray[Any, Any]]]) -> None:
    """Write a file as its published description says: the length of the header, the header, the bytes."""
    header: dict[str, Any] = {"__metadata__": {"by": "test"}}
    data = b""
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    encoded = json.dumps(header).encode()
    path.write_bytes(len(encoded).to_bytes(8, "little") + encoded + data)


A, B = np.arange(12, dtype=np.uint16) * 771, np.arange(12, dtype=np.uint16)[::-1] + 7


def test_arrays_in_every_kind_of_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "stored.npz", a=A, b=B, other=A)
    np.savez_compressed(tmp_path / "packed.npz", b=B, a=A)
    np.save(tmp_path / "both.npy", np.stack([A, B], axis=1))
    np.save(tmp_path / "fortran.npy", np.asfortranarray(np.stack([A, B], axis=1)))
    fields = np.zeros(12, np.dtype([("b", np.uint16), ("a", np.uint16)]))
    fields["a"], fields["b"] = A, B
    np.save(tmp_path / "fields.npy", fields)
    write_safetensors(tmp_path / "t.safetensors", {"b": ("BF16", B), "a": ("BF16", A)})
    (tmp_path / "rows.txt").write_text("".join(f"{x:#x},\t0X{y:04X}  # {x}\n\n" for x, y in zip(A, B, strict=True)))
    files = ("stored.npz", "packed.npz", "both.npy", "fortran.npy", "fields.npy", "t.safetensors", "rows.txt")
    for name in files:
        assert columns(f"{tmp_path / name}", "bf16", "bf16") == [A.tolist(), B.tolist()], name
        rows = Mixture.named(f"{tmp_path / name}").rows(target("bf16", "bf16"), 0, None)
        assert [codes.tolist() for codes in rows.part(3, 7)] == [A[3:7].tolist(), B[3:7].tolist()]
    assert (
        columns(f"a={tmp_path / 'stored.npz'}:array=b;b={tmp_path / 'both.npy'}:sample", "bf16", "bf16")[0]
        == B.tolist()
    )


def test_large_files_are_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", A)
    np.savez(tmp_path / "x.npz", a=A)
    write_safetensors(tmp_path / "x.safetensors", {"a": ("U16", A)})
    for name, array in (("x.npy", None), ("x.npz", "a"), ("x.safetensors", "a")):
        found = named_array(str(tmp_path / name), array).array
        assert (found.flags.owndata, found.flags.writeable) == (False, False)


def test_a_compressed_array_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(1000))
    monkeypatch.setattr(archives, "MOST_UNPACKED", 999)
    with pytest.raises(LimitExceeded, match=r"compressed array 'a\.npy' has 8,128 bytes; the limit is 999"):
        named_array(str(tmp_path / "x.npz"), "a")


@pytest.mark.parametrize("name", thinned(["x.npy", "x.npz", "p.npz", "x.safetensors"], 2))
def test_damaged_files_are_errors(name: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", A)
    np.savez(tmp_path / "x.npz", a=A)
    np.savez_compressed(tmp_path / "p.npz", a=A)
    write_safetensors(tmp_path / "x.safetensors", {"a": ("U16", A)})
    whole = (tmp_path / name).read_bytes()
    damaged = tmp_path / f"d{name}"
    for end in range(0, len(whole), 7):
        damaged.write_bytes(whole[:end])
        with pytest.raises(HalfulpError):
            np.asarray(next(iter(read_arrays(str(damaged)).values()))().array)
    generator = np.random.default_rng(0)
    for _ in range(100):
        changed = bytearray(whole)
        for place in generator.integers(0, len(whole), 3):
            changed[place] = generator.integers(0, 256)
        damaged.write_bytes(changed)
        try:
            np.asarray(next(iter(read_arrays(str(damaged)).values()))().array)
        except HalfulpError:
            continue


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (b"{}", "it has no arrays"),
        (b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}', "its data is bytes 0 to 8 of 0"),
    ],
)
def test_headers_that_lie(header: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(InputError, match=re.escape(told)):
        named_array(str(path), None)


@pytest.mark.parametrize("dtype", ["V3", "V16", "V0"])
def test_bytes_that_no_number_has_are_errors(dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((2, 1), dtype))
    with pytest.raises(TypeMismatch, match="bytes without a type are neither numbers nor raw bits"):
        columns(str(path), "f16")


def test_unknown_versions_of_npy_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, A)
    for version in ((2, 0), (3, 0)):
        with path.open("wb") as file:
            np.lib.format.write_array(file, A, version)
        assert columns(str(path), "bf16") == [A.tolist()]
    whole = bytearray(path.read_bytes())
    whole[6] = 9
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"version 9\.0 of the format is not known"):
        columns(str(path), "bf16")


def test_an_array_that_numpy_cannot_read_back_has_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([1.5], ml_dtypes.float8_e5m2))
    with pytest.raises(InputError, match="NumPy writes the dtype float8_e5m2 as '<f1'") as error:
        columns(str(path), "f8E5M2")
    assert error.value.hint == "save the codes: x.view(np.uint8)"


def test_paths_that_cannot_be() -> None:
    with pytest.raises(InputError, match=r"cannot read 'a\\x00b\.npy'"):
        columns("a\0b.npy", "bf16")
    with pytest.raises(InputError, match=r"'bad\\udcff\.npy' is not Unicode text"):
        columns("bad\udcff.npy", "bf16")


def test_python_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(InputError, match="Python objects"):
        named_array(str(tmp_path / "x.npy"), None)


# --- elements ---------------------------------------------------------------------------------------------------------


def codes(
    array: np.ndarray[Any, Any], spelling: str, fitting: Fitting = AS_IT_IS, source: str | None = None
) -> list[int]:
    found: list[int] = codes_of_elements(
        array, FORMATS[source] if source else None, as_type(spelling), fitting
    ).tolist()
    return found


def test_elements_of_their_own_type() -> None:
    assert codes(np.array([1.5, -0.0], np.float32), "f32") == [0x3FC00000, 0x80000000]
    assert codes(np.array([1.5, np.nan], np.float16), "f16") == [0x3E00, 0x7E00]
    assert codes(np.array([1.5], ml_dtypes.bfloat16), "bf16") == [0x3FC0]
    assert codes(np.array([1.5], ml_dtypes.float8_e4m3fn), "f8E4M3FN") == [0x3C]
    assert codes(np.array([1.5], ">f4"), "f32") == [0x3FC00000]
    assert codes(np.array([0x3FC0], np.uint16), "bf16", source="bf16") == [0x3FC0]
    assert codes(np.array([-1, 127], np.int8), "i8") == [0xFF, 0x7F]
    assert codes(np.array([-8, 7], np.int64), "i4") == [8, 7]
    assert codes(np.array([-1], np.int8), "i16") == [0xFFFF]
    assert codes(np.array([True, False]), "i1") == [1, 0]
    assert codes(np.array([-3], ml_dtypes.int4), "i4") == [13]


def test_raw_bits() -> None:
    assert codes(np.array([0, 15], np.uint64), "f4E2M1FN") == [0, 15]
    assert codes(np.array([0x3FC0], np.uint32), "bf16") == [0x3FC0]
    # What NumPy saves of an array of ml_dtypes is bytes without a type.
    stream = io.BytesIO()
    np.save(stream, np.array([1.5], ml_dtypes.bfloat16))
    stream.seek(0)
    assert codes(np.load(stream), "bf16") == [0x3FC0]
    wide = np.array([[1, 2], [3, 4]], np.uint64)
    assert codes_of_elements(wide, None, as_type("f128"), Fitting()).tolist() == wide.tolist()
    with pytest.raises(InputError, match="element 1 is 0x10, which has more than 4 bits"):
        codes(np.array([0, 16], np.uint8), "f4E2M1FN")
    with pytest.raises(InputError, match="element 0 is 0x100000000000000000000, which has more than 80 bits"):
        codes_of_elements(np.array([[0, 0x10000]], np.uint64), None, as_type("f80"), Fitting())
    with pytest.raises(TypeMismatch, match="take the shape"):
        codes(np.array([1], np.uint64), "f128")


def test_elements_of_another_type_name_the_way_on() -> None:
    with pytest.raises(TypeMismatch, match="the elements are f32, but the operand is bf16") as error:
        codes(np.array([1.5], np.float32), "bf16")
    assert "round" in str(error.value.hint)
    with pytest.raises(TypeMismatch, match="the elements are int64, but the operand is bf16"):
        codes(np.array([1]), "bf16")
    with pytest.raises(TypeMismatch, match="dtype complex128"):
        codes(np.array([1j]), "bf16")
    with pytest.raises(InputError, match="element 1 is 128, but i8 has -128 to 127"):
        codes(np.array([0, 128]), "i8")
    with pytest.raises(InputError, match="element 0 is -1, but ui8 has 0 to 255"):
        codes(np.array([-1]), "ui8")


@pytest.mark.parametrize("mode", list(Rounding)[:5])
def test_elements_are_rounded_in_the_mode(mode: Rounding) -> None:
    numbers = np.random.default_rng(1).normal(0, 100, 300).astype(np.float32)
    for name in ("bf16", "f8E5M2", "f8E4M3FN"):
        wanted = [scalar.from_fraction(FORMATS[name], Fraction(float(x)), mode).code for x in numbers]
        assert codes(numbers, name, Fitting(mode)) == wanted
    integers = np.array([257, -(1 << 62) - 1, 3, 0])
    wanted = [scalar.from_fraction(FORMATS["bf16"], Fraction(int(x)), mode).code for x in integers]
    assert codes(integers, "bf16", Fitting(mode)) == wanted


def test_saturated_elements() -> None:
    saturate = Fitting(Rounding.TO_NEAREST_EVEN, True)
    assert codes(np.array([1e9, -1e9], np.float32), "f8E4M3FN", saturate) == [0x7E, 0xFE]
    assert codes(np.array([300, -300]), "i8", Fitting(None, True)) == [0x7F, 0x80]
    assert codes(np.array([2.5, 1e9, -1e9]), "i8", saturate) == [2, 0x7F, 0x80]
    assert rounded_numbers(np.array([2.5, 3.5]), as_type("i8"), NEAREST).tolist() == [2, 4]


# --- text -------------------------------------------------------------------------------------------------------------


def test_literals_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("1.5 -0.0\n0x1.8p-3, 1/4\ninf\tnan\n0x3F_80 -inf\n-2 1e2 # a row\n")
    found = columns(str(path), "bf16", "bf16")
    assert found == [[0x3FC0, 0x3E40, 0x7F80, 0x3F80, 0xC000], [0x8000, 0x3E80, 0x7FC0, 0xFF80, 0x42C8]]
    path.write_text("-1 255 -128\n0xff 0x80 127\n")
    assert columns(str(path), "i8", "ui8", "i8") == [[255, 255], [255, 128], [128, 127]]
    path.write_text("0.1\n1/3\n1e-9999\n0x1p99999")
    rounded: Any = columns(f"{path}:round=upward", "f128")
    values = [scalar.value(FORMATS["f128"], low | high << 64) for low, high in rounded[0][:2]]
    assert all(
        value is not None and value >= exact
        for value, exact in zip(values, (Fraction("0.1"), Fraction(1, 3)), strict=True)
    )


@pytest.mark.parametrize(
    ("line", "column", "told"),
    [
        ("1 2", 3, "the line has 2 words, but a row has 3: a, b, c"),
        ("1 2 3 4", 7, "the line has 4 words, but a row has 3"),
        ("1  x 3", 4, "'x' is neither a code, such as 0x3C, nor a number"),
        ("1 2 0x1ffff", 5, "0x1ffff has more than the 16 bits of bf16"),
        ("1 2 0.1", 5, "0.1: the format bf16 does not have this number"),
        ("1 1e99 1", 3, "1e99: the format bf16 does not have this number"),
        ("1 1/0 1", 3, "divides by zero"),
    ],
)
def test_errors_of_text_have_their_place(line: str, column: int, told: str, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(f"# rows\n1 2 3\n\n{line}\n")
    with pytest.raises(InputError, match=re.escape(told)) as error:
        columns(str(path), "bf16", "bf16", "bf16")
    assert str(error.value).startswith(f"{path}:4:{column}: error: ")


def test_numbers_that_a_format_lacks(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    for number in ("inf", "-inf", "500", "0.0001"):
        path.write_text(number)
        with pytest.raises(InputError, match="does not have this number"):
            columns(str(path), "f8E4M3FN")
    path.write_text("nan")
    with pytest.raises(InputError, match="does not have this number"):
        columns(str(path), "f4E2M1FN")
    path.write_text("1.5")
    with pytest.raises(InputError, match="does not have this number"):
        columns(str(path), "i8")


@pytest.mark.parametrize("word", ["1" * 5000, "0x" + "1" * 5000, "x" * 5000])
def test_errors_do_not_repeat_long_words(word: str, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text(word)
    with pytest.raises(InputError) as error:
        columns(str(path), "bf16")
    assert len(str(error.value)) < 400


def test_text_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.txt"
    path.write_text("1\n" * 5)
    monkeypatch.setattr(elements, "MOST_ROWS", 4)
    with pytest.raises(LimitExceeded, match="more than 4 rows"):
        columns(str(path), "bf16")
    path.write_text("1" * 100)
    monkeypatch.setattr(elements, "MOST_LINE", 50)
    with pytest.raises(LimitExceeded, match="a line of more than 50 characters"):
        columns(str(path), "bf16")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not text"):
        columns(str(path), "bf16")
