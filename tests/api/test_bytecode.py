"""Bytecode at the front door: recognised wherever text is, mapped, run, translated and inspected."""

import contextlib
import io
import json
import os
import resource
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import halfulp as hu
from halfulp.command import main as cli
from halfulp.interp.bytecode.encoding import Section, varint
from halfulp.interp.ir.blobs import MAGIC

TEXT = """func.func @main(%x: tensor<4xf8E4M3FN>, %y: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %0 = arith.addf %x, %y : tensor<4xf8E4M3FN>
  return %0 : tensor<4xf8E4M3FN>
}
"""
INPUTS = ("--input=4xf8E4M3FN=1 0.3 -2.5 448", "--input=4xf8E4M3FN=0.0625 0.3 2.5 32")


class Done(NamedTuple):
    """The exit code of a command, and its output."""

    code: int
    out: str
    err: str


def run_command(*arguments: str) -> Done:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(arguments)
    return Done(code, out.getvalue(), err.getvalue())


@pytest.fixture
def files(tmp_path: Path) -> SimpleNamespace:
    """Return the same program as text and as bytecode of each version."""
    text = tmp_path / "f.mlir"
    text.write_text(TEXT, encoding="utf-8")
    module = hu.load(text)
    binary = []
    for version in range(7):
        path = tmp_path / f"f{version}.mlirbc"
        path.write_bytes(hu.write_bytecode(module, version))
        binary.append(path)
    return SimpleNamespace(text=text, binary=binary, folder=tmp_path)


def test_load_takes_paths_bytes_and_views(files: SimpleNamespace) -> None:
    wanted = hu.print_module(hu.load(files.text))
    for path in files.binary:
        data = path.read_bytes()
        for source in (path, str(path), data, memoryview(data)):
            assert hu.print_module(hu.load(source)) == wanted
            assert hu.print_module(hu.read_bytecode(source)) == wanted


def test_load_needs_a_program() -> None:
    with pytest.raises(hu.errors.InputError, match="<bytes> is empty: there is no program in it"):
        hu.load(b"")


def test_read_bytecode_takes_nothing_else(files: SimpleNamespace) -> None:
    with pytest.raises(hu.errors.BytecodeError, match=r"f\.mlir: error: not MLIR bytecode: .* \(at byte 0\)"):
        hu.read_bytecode(files.text)
    with pytest.raises(hu.errors.InputError, match="No such file"):
        hu.read_bytecode(files.folder / "none.mlirbc")
    with pytest.raises(ValueError, match="schema is 'mlir99', but must be one of mlir22, llvm24"):
        hu.read_bytecode(files.binary[6], schema="mlir99")
    with pytest.raises(hu.errors.BytecodeError, match="arith.addf"):
        hu.read_bytecode(files.binary[6], schema="llvm24")


def test_both_schemas_are_written(files: SimpleNamespace) -> None:
    module = hu.load(files.text)
    newer = hu.write_bytecode(module, schema="llvm24")
    assert newer != hu.write_bytecode(module)
    assert hu.print_module(hu.load(newer)) == hu.print_module(module)
    assert hu.write_bytecode(module, producer="mine")[5:10] == b"mine\0"
    options = ("--emit-bytecode", "--emit-bytecode-producer=mine", "-o", str(files.folder / "mine"))
    assert run_command("translate", str(files.text), *options).code == 0
    assert (files.folder / "mine").read_bytes() == hu.write_bytecode(module, producer="mine")
    with pytest.raises(ValueError, match="schema is"):
        hu.write_bytecode(module, schema="llvm17")


def test_running_gives_the_values_of_the_text(files: SimpleNamespace) -> None:
    wanted = run_command("run", str(files.text), *INPUTS)
    assert wanted.code == 0
    assert wanted.out == "result[0]: 4xf8E4M3FN=1 0.625 0 nan\n"
    for path in files.binary:
        assert run_command("run", str(path), *INPUTS) == wanted
    x, y = (hu.Value.from_bits([0x38, 0x7E, 0x01, 0x80], "f8E4M3FN") for _ in range(2))
    assert hu.run(files.binary[6], x, y) == hu.run(files.text, x, y)


def test_the_standard_input_is_recognised_too(files: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    for command, inputs in (("run", INPUTS), ("translate", ())):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(files.binary[6].read_bytes())))
        assert run_command(command, "-", *inputs) == run_command(command, str(files.text), *inputs)


def test_diff_takes_bytecode(files: SimpleNamespace) -> None:
    done = run_command("diff", str(files.text), str(files.binary[6]), "-n", "5")
    assert done.code == 0, done
    assert "5 inputs" in done.out


def test_translate_there_and_back(files: SimpleNamespace) -> None:
    path = files.folder / "out.mlirbc"
    for version in range(7):
        options = ("--emit-bytecode", f"--emit-bytecode-version={version}", "-o", str(path))
        assert run_command("translate", str(files.text), *options).code == 0
        assert path.read_bytes() == files.binary[version].read_bytes()
        assert run_command("translate", str(path)).out == run_command("translate", str(files.text)).out
    assert run_command("translate", str(files.text), "--emit-bytecode", "-o", str(path)).code == 0
    assert path.read_bytes() == files.binary[6].read_bytes()
    newer = ("--emit-bytecode", "--schema=llvm24", "-o", str(path))
    assert run_command("translate", str(files.binary[4]), *newer).code == 0
    assert path.read_bytes() == hu.write_bytecode(hu.load(files.binary[4]), schema="llvm24")
    assert sorted(os.listdir(files.folder)) == sorted(
        ["f.mlir", "out.mlirbc", *(p.name for p in files.binary)]
    )  # nothing half-written is left


def test_bytecode_goes_to_a_pipe_but_not_to_a_terminal(files: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    class Output(io.TextIOWrapper):
        tty = False

        def isatty(self) -> bool:
            return self.tty

    output = Output(io.BytesIO(), "utf-8")
    monkeypatch.setattr(sys, "stdout", output)
    assert cli.main(["translate", str(files.text), "--emit-bytecode"]) == 0
    written = output.buffer
    assert isinstance(written, io.BytesIO)
    assert written.getvalue() == files.binary[6].read_bytes()
    Output.tty = True
    assert cli.main(["translate", str(files.text), "--emit-bytecode"]) == 2
    assert written.getvalue() == files.binary[6].read_bytes()


REFUSED = {
    "two modules": (
        "module {}\n// -----\nmodule {}\n",
        ("--split-input-file", "--emit-bytecode", "-o", "out"),
        "a bytecode file holds one module, but the file has 2 parts",
    ),
    "a version alone": ("module {}\n", ("--emit-bytecode-version=4",), "can be used only with --emit-bytecode"),
    "a version that is none": ("module {}\n", ("--emit-bytecode", "--emit-bytecode-version=7"), "invalid choice"),
    "newer ops for MLIR 22": (
        "func.func @f(%a: f32) {\n  %0 = arith.addf %a, %a upward : f32\n  return\n}\n",
        ("--emit-bytecode", "-o", "out"),
        "the property 'roundingmode' of 'arith.addf' does not exist in MLIR 22",
    ),
    "diagnostics of bytecode": (None, ("--verify-diagnostics",), "--verify-diagnostics needs text"),
    "unregistered ops": ('"t.x"() : () -> ()\n', (), "t.x"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_translate_refuses(
    name: str, files: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, options, message = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    path = files.binary[6]
    if text is not None:
        path = tmp_path / "in.mlir"
        path.write_text(text, encoding="utf-8")
    done = run_command("translate", str(path), *options)
    assert done.code == 2 or "does not exist in MLIR 22" in message
    assert message in done.err
    assert not (tmp_path / "out").exists()


def test_unregistered_ops_are_kept_on_request(tmp_path: Path) -> None:
    path = tmp_path / "t.mlirbc"
    path.write_bytes(hu.write_bytecode(hu.load('"t.x"() <{a = 1 : i8}> : () -> ()')))
    done = run_command("translate", str(path))
    assert done.code == 2
    assert "op 't.x' is of a dialect that is not registered" in done.err
    done = run_command("translate", str(path), "--allow-unregistered-dialect")
    assert '"t.x"() <{a = 1 : i8}> : () -> ()' in done.out


# --- inspect ----------------------------------------------------------------------------------------------------------


def test_inspect_shows_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "r.mlirbc"
    text = (
        "func.func @main() -> tensor<2xf32> {\n"
        "  %0 = arith.constant dense_resource<weights> : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n"
        '{-# dialect_resources: { builtin: { weights: "0x040000000000803F00000040" } } #-}\n'
    )
    path.write_bytes(hu.write_bytecode(hu.load(text)))
    done = run_command("translate", "--summary", str(path))
    assert done.code == 0
    for word in ("version 6", "MLIR22", "STRING", "ATTR_TYPE", "arith.constant", "weights", "blob", "strings"):
        assert word in done.out
    summary = json.loads(run_command("translate", "--summary", str(path), "--json").out)
    assert summary["size"] == path.stat().st_size
    assert summary["ops"]["func.return"] == 1
    assert summary["resources"] == [
        {"group": "builtin", "key": "weights", "external": False, "kind": "blob", "size": 8, "alignment": 4}
    ]
    assert summary["error"] is None
    (value,) = hu.run(path)
    assert value.numpy().tolist() == [1.0, 2.0]


def test_inspect_says_what_is_wrong(files: SimpleNamespace) -> None:
    done = run_command("translate", "--summary", str(files.text))
    assert done.code == 2
    assert done.err == (
        f"{files.text}: error: not MLIR bytecode: it does not begin with 4D 4C EF 52 (at byte 0)\n"
        "hint: the file is text: halfulp translate --emit-bytecode converts it to bytecode\n"
    )
    cut = files.folder / "cut.mlirbc"
    data = files.binary[6].read_bytes()
    for size in (4, 20, 60, len(data) - 1):
        cut.write_bytes(data[:size])
        for command in (["translate", "--summary"], ["run"], ["translate"]):
            done = run_command(*command, str(cut))
            assert done.code == 2
            assert done.err.startswith(f"{cut}: error: ")
            assert done.err.rstrip().endswith(")")
            assert "(at byte " in done.err
            assert ":0:0" not in done.err


def test_errors_as_json_have_the_byte(files: SimpleNamespace) -> None:
    cut = files.folder / "cut.mlirbc"
    cut.write_bytes(MAGIC)
    record = json.loads(run_command("run", str(cut), "--diagnostics=json").err)
    assert record["file"] == str(cut)
    assert record["offset"] == 4
    assert record["line"] is None


# --- large files ------------------------------------------------------------------------------------------------------

LARGE = 300_000_000


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Return a file of 300 MB, nearly all of it a hole, which is the constant that the function returns an element of."""
    text = (
        f"func.func @main(%i: index) -> i8 {{\n  %0 = arith.constant dense_resource<hole> : tensor<{LARGE}xi8>\n"
        f"  %1 = tensor.extract %0[%i] : tensor<{LARGE}xi8>\n  return %1 : i8\n}}\n"
        '{-# dialect_resources: { builtin: { hole: "0x0100000007" } } #-}\n'
    )
    small = hu.write_bytecode(hu.load(text))
    head, sections = _sections(small)
    path = tmp_path / "large.mlirbc"
    with path.open("wb") as file:
        file.write(head)
        for number, content in sections:
            if number == Section.RESOURCE_OFFSET:
                # The one entry is larger: alignment, size and the bytes.
                entry = varint(1) + varint(LARGE)
                content = content[:-2] + varint(len(entry) + LARGE) + content[-1:]
            if number == Section.RESOURCE:
                file.write(bytes((number,)) + varint(len(entry) + LARGE) + entry + b"\x07")
                file.seek(LARGE - 1, os.SEEK_CUR)
                continue
            file.write(bytes((number,)) + varint(len(content)) + content)
    return path


def _sections(data: bytes) -> tuple[bytes, list[tuple[int, bytes]]]:
    from corpora.fuzz_bytecode import Parts

    parts = Parts.of(data)
    assert parts is not None
    return parts.head, [(number, content) for number, _, content in parts.sections]


def test_a_large_resource_is_neither_copied_to_be_read_nor_to_be_run(large: Path) -> None:
    tracemalloc.start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    module = hu.load(large)
    blob = module.resources.blob("hole")
    assert blob is not None
    assert len(blob) == LARGE
    assert blob[0] == 7
    results = hu.run(module, 0, max_bytes=LARGE), hu.run(module, LARGE - 1, max_bytes=LARGE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [int(result.bits) for (result,) in results] == [7, 0]
    assert peak < 20_000_000
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert kilobytes * (1 if sys.platform != "darwin" else 1 / 1024) < 150_000
    assert json.loads(run_command("translate", "--summary", str(large), "--json").out)["resources"][0]["size"] == LARGE


def test_elements_of_resources_are_views_where_they_can_be() -> None:
    text = (
        "func.func @main() -> tensor<3x{0}> {{\n  %0 = arith.constant dense_resource<k> : tensor<3x{0}>\n"
        "  return %0 : tensor<3x{0}>\n}}\n"
        '{{-# dialect_resources: {{ builtin: {{ k: "0x{1}{2}" }} }} #-}}\n'
    )
    for type_, size in (("i8", 1), ("f16", 2), ("f32", 4), ("i64", 8), ("i4", 1), ("i1", 1), ("f80", 10)):
        data = bytes(range(1, 3 * size + 1)) if type_ not in ("i1", "i4") else bytes((1, 0, 1))
        if type_ == "i1":
            data = bytes((0b101,))
        source = text.format(type_, "08000000", data.hex().upper())
        binary = hu.load(hu.write_bytecode(hu.load(source)))
        (value,), (wanted,) = hu.run(binary), hu.run(source)
        assert value == wanted
        assert not value.bits.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            value.bits.setflags(write=True)
    binary = hu.load(hu.write_bytecode(hu.load(text.format("i8", "08000000", "010203"))))
    blob = np.frombuffer(binary.resources.blob("k") or b"", np.uint8)
    assert np.shares_memory(hu.run(binary)[0].bits, blob)


def test_resources_that_no_file_can_hold() -> None:
    text = '"t.a"() : () -> ()\n{{-# dialect_resources: {{ {0}: {{ k: "0x{1}01" }} }} #-}}\n'
    with pytest.raises(hu.errors.ParseError, match="non-power-of-2 value: 0"):
        hu.load(text.format("builtin", "00000000"))
    module = hu.load('"t.a"() {a = dense_resource<k> : tensor<1xi8>} : () -> ()\n' + text.format("builtin", "08000000"))
    data = hu.write_bytecode(module)
    # The one name after which resources can stand is builtin's: another in its place is refused.
    other = data.replace(b"builtin\0", b"buildin\0")
    with pytest.raises(hu.errors.BytecodeError, match="unexpected resources of dialect 'buildin'"):
        hu.load(other)
