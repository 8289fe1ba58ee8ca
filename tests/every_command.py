"""One call of each command, with every file that it reads and writes: for tests of rules that all commands keep."""

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tree import ROOT

from halfulp.command.main import main

FILES: Mapping[str, str] = {
    "add.mlir": """\
func.func @f(%x: f8E4M3FN, %y: f8E4M3FN) -> f8E4M3FN {
  %0 = arith.addf %x, %y : f8E4M3FN
  return %0 : f8E4M3FN
}
""",
    "twice.mlir": """\
func.func @f(%x: i8) -> i8 {
  %0 = arith.addi %x, %x : i8
  return %0 : i8
}
""",
    "shifted.mlir": """\
func.func @f(%x: i8) -> i8 {
  %c = arith.constant 1 : i8
  %0 = arith.shli %x, %c : i8
  return %0 : i8
}
""",
    "my-opt": """\
#!/bin/sh
if [ "$1" = --version ]; then echo "LLVM version 99.1.0git"; exit 0; fi
exec cat
""",
    "interesting": "#!/bin/sh\ngrep -q addi $1\n",
    "two.mlir": """\
func.func @f(%x: f8E4M3FN, %y: f8E4M3FN) -> f8E4M3FN {
  %0 = arith.addf %x, %y : f8E4M3FN
  %1 = arith.subf %0, %x : f8E4M3FN
  return %1 : f8E4M3FN
}
""",
}
"""The files that the calls read, beside two examples, bytecode, and vectors with their metadata."""

TWO = ("--input=f8E4M3FN=1.5", "--input=f8E4M3FN=0.3")
PASSES = "--pass-pipeline=builtin.module(canonicalize)"
DOT = "mma.m16n8k16.f32.f16.f16.f32"
SET = ("arith.addf", "--type=f8E4M3FN", "-n8", "--no-flags")


class Call(NamedTuple):
    """The words after ``halfulp``, the exit code, the files that the call reads, and those that it writes."""

    words: tuple[str, ...]
    code: int = 0
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


EVERY: Mapping[str, Call] = {
    "run": Call(("run", "add.mlir", *TWO), 0, ("add.mlir",)),
    "run --trace": Call(
        ("run", "add.mlir", "--trace", *TWO, "--npz=out/trace", "--html=out/trace.html", "--annotate=out/add.mlir",
         "--perfetto=out/steps.json"),
        0,
        ("add.mlir",),
        ("out/trace/values.npz", "out/trace/index.json", "out/trace.html", "out/add.mlir"),
    ),
    "eval": Call(("eval", "arith.addf", *TWO)),
    "explain": Call(("explain", "0.3", "f8E4M3FN")),
    "explain dot": Call(
        ("explain", "dot", DOT, "--mma=chip:hopper", "--a=1 0.3 0*14", "--b=2 0.7 0*14", "--html=out/dot.html"),
        0,
        (),
        ("out/dot.html",),
    ),
    "explain error": Call(("explain", "error", "add.mlir", *TWO), 0, ("add.mlir",)),
    "sensitivity": Call(
        ("sensitivity", "two.mlir", *TWO, "--best=out/best.mlir"), 0, ("two.mlir",), ("out/best.mlir",)
    ),
    "formats": Call(("formats", "f8E4M3FN")),
    "formats --explore": Call(("formats", "--explore", "-o", "out/explore.html"), 0, (), ("out/explore.html",)),
    "translate": Call(
        ("translate", "add.mlir", "--emit-bytecode", "-o", "out/add.mlirbc"), 0, ("add.mlir",), ("out/add.mlirbc",)
    ),
    "translate --check": Call(("translate", "--check", "twice.mlir", "--mlir=./my-opt"), 1, ("twice.mlir",)),
    "translate --summary": Call(("translate", "--summary", "add.mlirbc"), 0, ("add.mlirbc",)),
    "verify": Call(("verify", "arith.addf", "--type=f8E4M3FN", "-n8", "--against=exact,ml_dtypes")),
    "verify --ulp": Call(("verify", "--ulp", "math.exp", "--type=f16", "--samples=8", "--against=numpy")),
    "diff": Call(
        ("diff", "twice.mlir", PASSES, "--mlir-opt=./my-opt", "--junit=out/junit.xml", "--keep=out/kept"),
        0,
        ("twice.mlir",),
        ("out/junit.xml",),
    ),
    "bisect": Call(
        ("bisect", "twice.mlir", "shifted.mlir", "--keep=out/stages", "--html=out/bisect.html"),
        0,
        ("twice.mlir", "shifted.mlir"),
        ("out/stages", "out/bisect.html"),
    ),
    "fuzz": Call(("fuzz", PASSES, "--mlir-opt=./my-opt", "-n2", "--emit=out/programs"), 3, (), ("out/programs",)),
    "fuzz --pass": Call(
        ("fuzz", "--pass=canonicalize", "--mlir-opt=./my-opt", "--from=loops", "-n1", "-o", "out/passes.md"), 3, (), ("out/passes.md",)
    ),
    "reduce": Call(
        ("reduce", "twice.mlir", "--test=./interesting", "-o", "out/small.mlir"),
        0,
        ("twice.mlir",),
        ("out/small.mlir",),
    ),
    "vectors make": Call(
        ("vectors", "make", *SET, "--format=csv,npz", "--out=out/set"),
        0,
        (),
        ("out/set/addf_f8E4M3FN.csv", "out/set/addf_f8E4M3FN.npz", "out/set/addf_f8E4M3FN.json"),
    ),
    "vectors check": Call(
        ("vectors", "check", "set.csv", "--metadata=set.json"), 0, ("set.csv", "set.json")
    ),
    "vectors sweep": Call(
        ("vectors", "sweep", *SET, "--workers=1", "--out=out/sweep"), 0, (), ("out/sweep/metadata.json",)
    ),
    "vectors coverage report": Call(
        ("vectors", "coverage", "report", "coverage.json", "coverage.json", "-o", "out/coverage.json"),
        0,
        ("coverage.json",),
        ("out/coverage.json",),
    ),
    "iree constraints": Call(
        ("iree", "constraints", "tuning.mlir", "--knob=wg_m=32", "--knob=wg_n=32", "--knob=mma_idx=1", "--dim=128"),
        0,
        ("tuning.mlir",),
    ),
    "iree workgroups": Call(("iree", "workgroups", "dispatch.mlir", "--input=1000", "--input=4096", "--input=64"), 0, ("dispatch.mlir",)),
    "cache": Call(("cache",)),
    "completion": Call(("completion", "bash")),
}  # fmt: skip
"""A call of each command in a folder of `prepared`."""


def prepare(folder: Path) -> Path:
    """Write what the calls read into a new folder, and return it."""
    (folder / "out").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    for name in ("dispatch.mlir", "tuning.mlir"):
        shutil.copy(ROOT / "examples" / name, folder)
    before = Path.cwd()
    try:
        os.chdir(folder)
        assert not main(
            ["vectors", "make", *SET, "--format=csv", "--out=.", "--name=set", "--coverage-file=coverage.json"]
        )
        assert not main(["translate", "add.mlir", "--emit-bytecode", "-o", "add.mlirbc"])
    finally:
        os.chdir(before)
    return folder


_TIMES = re.compile(rb'[0-9.]+ (?:programs/)?s\b|time="[0-9.]+"')


def timeless(data: bytes) -> bytes:
    """Return an output without the times that a command measured."""
    return _TIMES.sub(b"TIME", data)


def written(before: Path, after: Path) -> dict[str, str]:
    """Return a digest of each file that a folder has and the other has not, or not so, by its name."""
    found = {}
    for path in sorted(after.rglob("*")):
        name, data = path.relative_to(after), path.read_bytes() if path.is_file() else None
        if data is not None and not ((before / name).is_file() and (before / name).read_bytes() == data):
            found[str(name)] = hashlib.sha256(timeless(data)).hexdigest()[:16]
    return found
