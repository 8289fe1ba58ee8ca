"""What people of other tools try: each attempt works, or its error says what to write.

The attempts are those of users of NumPy, safetensors, gguf, torch, IREE, MLIR's tools, lit, FileCheck, jq, shells, editors
and CI. They were written before halfulp answered all of them.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command
from tables import each_row
from tensor_files import Q8, gguf

import halfulp as hu
from halfulp.command.main import TRIED, TRIED_OPTIONS

X = np.arange(4, dtype=np.float32)
ADD = """\
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
RESULT = "result[0]: 4xf32=0 2 4 6\n"

# A command, its exit code, and what stdout and stderr contain.
COMMANDS = (
    # NumPy
    ("run f.mlir --input=@x.npy", 0, RESULT, ""),
    ("run f.mlir --input=x.npy", 2, "", "hint: @ names a file: @x.npy"),
    ("run f.mlir x.npy", 2, "", "hint: give inputs as --input=…, as in --input=@x.npy"),
    ("run f.mlir --input=@x.npz", 2, "", "has 2 tensors: a, b\nhint: write @x.npz:a"),
    ("run f.mlir --input=@x.npz:a", 0, RESULT, ""),
    ("run f.mlir --input=@x.npz:c", 2, "", "has no tensor 'c'\nhint: it has a, b"),
    ("run f.mlir --input=@one.npz", 0, RESULT, ""),
    ("run f.mlir --input=[0,1,2,3]", 0, RESULT, ""),
    ("run f.mlir --input=4xf32=[0,1,2]", 2, "", "has 4 elements, but 3 are given"),
    ("run f.mlir --input=@x.npy --output=@y.npy", 0, "", ""),
    ("run f.mlir --input=@x.npy --output=@y.npz:r", 0, "", ""),
    ("run f.mlir --input=@x.npy --output=@y.txt:r", 2, "", ".npz and .safetensors files take several: @y.npz:NAME"),
    ("run f.mlir --input=@x.npy -o y.npy", 2, "", "hint: did you mean --output?"),
    # safetensors and gguf
    ("run f.mlir --input=@m.safetensors:layer.weight", 0, RESULT, ""),
    ("run f.mlir --input=@m.safetensors", 2, "", "has 2 tensors: layer.weight, w8\nhint: write @m.safetensors:"),
    ("run f.mlir --input=@m.safetensors:layer.wieght", 2, "", "hint: did you mean `layer.weight`?"),
    ("run f.mlir --input=@m.safetensors:w8", 2, "", "expected 'tensor<4xf32>', got 'tensor<4xf8E4M3FN>'"),
    ("run f.mlir --input=@missing.safetensors:a", 2, "", "cannot read 'missing.safetensors': No such file"),
    ("run f.mlir --input=@x.npy --output=@y.safetensors:r", 0, "", ""),
    ("run f.mlir --input=@x.npy --output=@y.gguf", 2, "", "results are not written to such a file"),
    ("run f.mlir --input=@w.gguf:a/elements", 2, "", "expected 'tensor<4xf32>', got 'tensor<1x32xi8>'"),
    # IREE
    ("iree-run-module f.mlir", 2, "", "hint: write halfulp run FILE --function=NAME --input=VALUE"),
    ("run f.mlir --function=f --input=4xf32=0,1,2,3", 0, RESULT, ""),
    ("run f.mlir --input=@x.npy --expected_output=4xf32=0,2,4,6", 0, RESULT, ""),
    ("run f.mlir --input=@x.npy --expected-output=4xf32=0,2,4,7", 1, RESULT, "[3]: expected 7"),
    ("run f.mlir --entry-function=f --input=@x.npy", 2, "", "hint: did you mean --function?"),
    ("run f.mlir --annotate=a.mlir", 2, "", "hint: --annotate can be used only with --trace"),
    ("verify math.exp --range=0,1", 2, "", "hint: --range can be used only with --ulp"),
    # MLIR's tools, lit, FileCheck
    ("f.mlir", 2, "", "hint: write halfulp run f.mlir"),
    ("opt f.mlir", 2, "", "hint: write halfulp translate"),
    ("translate f.mlir --split-input-file", 0, "arith.addf %arg0, %arg0 : tensor<4xf32>", ""),
    ("translate f.mlir --mlir-print-op-generic", 0, '"arith.addf"(%arg0, %arg0)', ""),
    ("translate bad.mlir --verify-diagnostics", 0, "", ""),
    ("run bad.mlir", 2, "", "bad.mlir:2:8: error: custom op 'arith.adf' is unknown"),
    ("lit f.mlir", 2, "", "hint: write lit itself, with the configuration in examples/lit"),
    ("diff f.mlir f.mlir -n 8", 0, "32 equal", ""),
    ("diff f.mlir", 2, "", "give one of --against, a second file and --pass-pipeline"),
    ("reduce f.mlir", 2, "", "give one of --against, --pass-pipeline and --test"),
    # jq, editors, CI
    ("run f.mlir --input=@x.npy --json", 0, '"values": [0.0, 2.0, 4.0, 6.0]', ""),
    ("formats f8E4M3FN --json", 0, '"max": {"bits": "0x7E", "value": 448', ""),
    ("translate bad.mlir --diagnostics=json", 2, "", '"file": "bad.mlir", "line": 2, "column": 8'),
    # shells
    ("--version", 0, "halfulp ", ""),
    ("-v", 2, "", "hint: write halfulp --version"),
    ("help", 2, "", "hint: write halfulp --help"),
    ("completion bash", 0, "complete -o default -F _halfulp halfulp", ""),
    ("completion powershell", 2, "", "choose from 'bash', 'zsh', 'fish'"),
    ("rnu f.mlir", 2, "", "hint: write halfulp run"),
    ("run f.mlir --inptu=@x.npy", 2, "", "hint: did you mean --input?"),
    ("trace f.mlir", 2, "", "halfulp trace is now: halfulp run --trace"),
    ("formats --explor=x.html", 2, "", "hint: did you mean --explore?"),
    ("diff f.mlir --passes=canonicalize", 2, "", "hint: did you mean --pass-pipeline?"),
    ("run --trace f.mlir --input=@x.npy --html=t --perfetto=t", 2, "", "--perfetto=t is the file of --html"),
    ("run --trace f.mlir --input=@x.npy --annotate=f.mlir", 2, "", "--annotate=f.mlir is the file of the program"),
    ("diff f.mlir f.mlir --junit=r --sarif=./r", 2, "", "--sarif=./r is the file of --junit"),
    # types and ops
    ("convert 0.1 bf16", 2, "", "hint: write halfulp explain 0.1 bf16"),
    ("explain 0.1 bf16", 0, "0x3DCD", ""),
    ("formats fp8", 2, "", "'fp8' may mean several types; write \"f8E4M3FN\""),
    ("formats !halfulp.float<\"x\",exponent=4,mantissa=3>", 2, "", "needs bias, as in bias = 3"),
    ("eval arith.addf --input=1 --input=2", 2, "", "'1' has no type\nhint: write type=elements"),
    ("eval arith.addf --input=f32=1 --input=f32=2", 0, "result[0]: f32=3\n", ""),
    ("vectors arith.addf", 2, "", "halfulp vectors is now: halfulp vectors make"),
    ("vectors make arith.addf --type=f16 --format=json", 2, "", "hint: did you mean `jsonl`?"),
    ("vectors check x.npz", 2, "", "hint: give --metadata FILE.json, or the op: --op arith.addf"),
)  # fmt: skip

# A line of Python, and what its result prints, or its error says.
LINES = (
    ('hu.open_tensors("m.safetensors")["layer.weight"].numpy()', "[0. 1. 2. 3.]"),
    ('list(hu.open_tensors("m.safetensors").keys())', "['layer.weight', 'w8']"),
    ('hu.open_tensors("w.gguf")["a"].dequantize().shape', "(1, 32)"),
    ('hu.load("m.safetensors")', "hu.open_tensors opens files of tensors"),
    ('hu.load_file("m.safetensors")', 'hu.open_tensors("model.safetensors") opens files'),
    ('hu.read_gguf("w.gguf")', 'hu.open_tensors("model.safetensors") opens files'),
    ("hu.safetensors.numpy", 'hu.open_tensors("model.safetensors") opens files'),
    ('hu.save_file({"a": X}, "y.safetensors")', 'hu.write_tensors("y.safetensors", {"y": v})'),
    ('hu.write_tensors({"a": X}, "y.npz")', "the file comes first"),
    ('hu.write_tensors("y.pt", {"a": X})', "must end in .safetensors or .npz"),
    ('hu.open_tensors("x.npy")', "np.load('x.npy')"),
    ('hu.open_tensors("m.safetensors")["nope"]', "it has layer.weight, w8"),
    ('hu.quantize_blocks(np.tile(X, 8), recipe="mxfp4")', 'quantize_blocks(x, "f4E2M1FN", "floor")'),
    ('hu.quantize_blocks(np.tile(X, 64), recipe="Q4_K")', 'hu.quant.pack(x, "Q4_K")'),
    ('hu.quantize_blocks(np.tile(X, 32), "f8E4M3FN", "deepseek")', "did you mean `fp8-deepseek` or"),
    ('hu.quantize_blocks(np.tile(X, 8), "f4E2M1FN", "fp8-te")', "it takes f8E4M3FN, f8E5M2"),
    ('hu.quant.pack(np.tile(X, 8), "Q4_K")', "must be a multiple of 256"),
    ("hu.dequantize_awq(X)", 'hu.quant.unpack("awq", qweight, qzeros, scales)'),
    ("hu.hadamard(X)", "hu.quant.hadamard"),
)  # fmt: skip


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run halfulp in a folder with a program and files of arrays."""
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text(ADD)
    expected = "// expected-error @+1 {{custom op 'arith.adf' is unknown}}\n"
    Path("bad.mlir").write_text(f"{expected}  %0 = arith.adf %a, %a : f32\n")
    np.save("x.npy", X)
    np.savez("x.npz", a=X, b=X[:2])
    np.savez("one.npz", a=X)
    Path("w.gguf").write_bytes(gguf(("a", (32, 1), 8, Q8)))
    hu.write_tensors("m.safetensors", {"layer.weight": X, "w8": hu.convert(X, "f8E4M3FN")})
    return Command(capsys)


@each_row(*COMMANDS)
def test_commands_work_or_say_what_to_write(line: str, code: int, out: str, err: str, command: Command) -> None:
    found = command(*line.split())
    assert found[0] == code, found
    assert out in found[1], found
    assert err in found[2] if err else found[2] == "", found


@each_row(*LINES)
def test_lines_work_or_say_what_to_write(line: str, says: str, command: Command) -> None:
    try:
        told = str(eval(line, {"hu": hu, "np": np, "X": X}))
    except Exception as error:
        told = str(error)
    assert says in told


def test_json_has_one_object_for_jq(command: Command) -> None:
    found: Any = json.loads(command("run", "f.mlir", "--input=@x.npy", "--json")[1])
    assert found["results"][0]["values"] == [0, 2, 4, 6]


def test_the_pattern_of_an_editor_finds_errors(command: Command) -> None:
    # The pattern of a problem matcher of VS Code, as for gcc.
    lines = command("run", "bad.mlir")[2].splitlines()
    assert re.fullmatch(r"(.*):(\d+):(\d+):\s+(warning|error|note):\s+(.*)", lines[0])


def test_the_attempts_are_many() -> None:
    assert len({line for line, *_ in (*COMMANDS, *LINES)}) == len(COMMANDS) + len(LINES) >= 60
    assert not TRIED.keys() & {name.split()[0] for name in TRIED_OPTIONS.values()}
