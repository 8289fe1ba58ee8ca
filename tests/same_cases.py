"""The cases of `same.py`: commands, programs, recipes of vectors and wrong calls, whose outcomes users see.

A chain is a list of cases that run one after the other in one folder. The cases are those of the base: its documents, its
examples, its names. `data/same/wrong.jsonl` has wrong commands and wrong calls, which were recorded from the tests.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from documents import commands, programs
from tree import ROOT

RECORDED = ROOT / "tests" / "data" / "same" / "wrong.jsonl"


class Step(NamedTuple):
    """A case: its name, ``command``, ``python``, ``cells`` or ``calls``, and the words, the program, the cells or the calls."""

    name: str
    kind: str
    content: Any


class Chain(NamedTuple):
    """Cases that run in one folder.

    ``fresh``: each in a process that has loaded no part of halfulp. ``examples``: the folder has a copy of examples/.
    """

    name: str
    steps: tuple[Step, ...]
    files: dict[str, str] = {}  # noqa: RUF012 (never changed)
    fresh: bool = False
    examples: bool = False

    @property
    def names(self) -> list[str]:
        """The names of all cases, those of a list of calls too."""
        found = []
        for step in self.steps:
            found += [name for name, _ in step.content] if step.kind == "calls" else [step.name]
        return found


def one_command(name: str, words: Sequence[str], **options: Any) -> Chain:
    """Return a chain of one command."""
    return Chain(name, (Step(name, "command", list(words)),), **options)


# --- documents and examples -----------------------------------------------------------------------------------------------

GOING_ON = ("from-jax.md", "from-pytorch.md", "from-triton.md")
"""Pages whose programs go on from one another, and whose commands read their files."""


def document_chains(base: Path) -> Iterator[Chain]:
    """Yield the commands and the programs of README and docs/, and the notebooks."""
    for page in (base / "README.md", *sorted((base / "docs").glob("*.md"))):
        code = [Step(f"docs/{page.name} python {k}", "python", text) for k, (text, _) in enumerate(programs(page))]
        if page.name in GOING_ON and code:
            code = [Step(f"docs/{page.name} python", "cells", [step.content for step in code])]
        lines = [
            Step(f"docs/{page.name} {k} $ {command.line[:70]}", "command", shlex.split(command.line))
            for k, command in enumerate(commands(page))
            if " | halfulp " not in command.line
        ]
        named = re.findall(r"^```mlir\n// (\S+)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        files = {name: f"// {name}\n{text}" for name, text in named}
        if code or lines:
            yield Chain(f"docs/{page.name}", (*code, *lines), files, fresh=True, examples=True)
    for notebook in sorted((base / "examples").glob("*.ipynb")):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        name = f"examples/{notebook.name}"
        yield Chain(name, (Step(name, "cells", [*["import os; os.chdir('examples')"], *sources]),), {}, True, True)


def example_chains(base: Path) -> Iterator[Chain]:
    """Yield for each program of examples/ its texts, its bytecode, and vectors of its functions."""
    for path in sorted((base / "examples").glob("*.mlir")):
        name = f"examples/{path.name}"
        calls: list[list[str]] = [
            ["translate", name],
            ["translate", name, "--generic", "--debug-info"],
            ["translate", name, "--emit-bytecode", "-o", "out.mlirbc"],
            ["inspect", "out.mlirbc"],
        ]
        public = re.findall(r"^\s*func\.func (?!private)@(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for function in public:
            made = ["vectors", name, f"--function={function}", "-n", "16", "--seed", "3"]
            calls += [[*made, "--format", "csv"], [*made, "--format", "jsonl", "--level", "random"]]
        steps = [Step(f"{name} {k} $ {' '.join(words)}", "command", words) for k, words in enumerate(calls)]
        yield Chain(name, tuple(steps), fresh=True, examples=True)


# --- vectors --------------------------------------------------------------------------------------------------------------

FLOATS = ("f4E2M1FN", "f4E1M2", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU", "f8E5M3FNU", "bf16", "f16", "tf32", "f32", "f64", "f80", "f128")  # fmt: skip
SOME_FLOATS = ("f4E2M1FN", "f8E4M3FN", "f8E5M2FNUZ", "bf16", "f16", "f32", "f64", "f128")
FILE_FORMATS = ("testfloat", "readmemh", "npz", "npy", "bin", "c", "sv", "coe", "csv", "jsonl", "runs", "mlir")
ROUNDINGS = ("to_nearest_even", "toward_zero", "upward", "downward", "to_nearest_away")
PROFILES = ("mlir22-fold", "mlir22-runtime", "mlir22-expand", "ml_dtypes", "iree-3.13", "ocp-saturate", "torch", "jax", "cuda-sat", "riscv", "x86-sse", "x87", "arm")  # fmt: skip
INTEGER_OPS = ("addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "ceildivsi", "floordivsi", "shli", "shrsi", "shrui", "andi", "xori", "maxsi", "minui", "mulsi_extended", "addui_extended")  # fmt: skip
MATH_OPS = ("exp", "exp2", "expm1", "log", "log1p", "log2", "sin", "cos", "tan", "tanh", "atan", "sqrt", "rsqrt", "cbrt", "erf", "absf", "ceil", "roundeven", "trunc", "powf", "atan2", "fma", "copysign", "sigmoid", "hypot")  # fmt: skip
TILE = """\
func.func @f(%a: vector<2x4xf16>, %b: vector<4x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32> {
  %0 = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
    affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"],
    kind = #vector.kind<add>} %a, %b, %c : vector<2x4xf16>, vector<4x2xf16> into vector<2x2xf32>
  return %0 : vector<2x2xf32>
}
"""
STOCHASTIC = """\
func.func @f(%a: tensor<4xf32>, %b: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = arith.truncf %a : tensor<4xf32> to tensor<4xbf16>
  %1 = arith.mulf %0, %b : tensor<4xbf16>
  return %1 : tensor<4xbf16>
}
"""
OWN_ROWS = "1.5 0x3C\n# two\n-0.1 1/4\ninf 0x1.8p-3\n\n0.5,2\n"


def recipes() -> Iterator[list[str]]:
    """Yield the arguments of `halfulp vectors`."""
    files, roundings = cycle(FILE_FORMATS), cycle(ROUNDINGS)
    for type in FLOATS:
        yield ["arith.addf", "--type", type, "--format", next(files)]
        yield ["arith.truncf", "--from", "f128", "--type", type, "--rounding", next(roundings), "--format", next(files)]
    for type in SOME_FLOATS:
        for op in ("mulf", "divf", "remf", "maximumf", "minnumf"):
            yield [f"arith.{op}", "--type", type, "--rounding" if op in ("mulf", "divf") else "--seed", next(roundings) if op in ("mulf", "divf") else "5", "--format", next(files)]  # fmt: skip
        yield ["arith.extf", "--from", type, "--type", "f128", "--level", "random", "--format", next(files)]
        yield ["arith.cmpf", "--type", type, "--attr", "predicate=ult", "--format", next(files)]
        yield ["arith.fptosi", "--from", type, "--type", "i9", "--format", "csv"]
        yield ["arith.fptoui", "--from", type, "--type", "i32", "--poison", "canonical", "--format", "coe"]
        yield ["arith.sitofp", "--from", "i64", "--type", type, "--format", next(files)]
        yield ["math.fma", "--type", type, "--models", "M1", "--format", "csv"]
    for op, width in zip(INTEGER_OPS, cycle((1, 4, 8, 16, 32, 64, 100)), strict=False):
        yield [f"arith.{op}", "--type", f"i{width}", "--poison", "drop", "--format", next(files)]
    yield ["arith.divsi", "--type", "i8", "--keep-ub", "--format", "jsonl"]
    yield ["arith.cmpi", "--type", "i8", "--attr", "predicate=slt", "--format", "sv"]
    yield ["arith.addi", "--type", "i8", "--attr", "overflowFlags=nsw", "--format", "csv"]
    for op, type in zip(MATH_OPS, cycle(("f16", "f32", "bf16", "f8E4M3FN", "f64")), strict=False):
        yield [
            op if op in ("sigmoid", "hypot") else f"math.{op}",
            "--type",
            type,
            "--level",
            "weighted",
            "--format",
            next(files),
        ]
    for op in ("math.exp", "math.tanh"):
        yield [op, "--type", "f32", "--level", "hard", "--format", "csv"]
        yield [op, "--type", "bf16", "--models", "F1,F2,F4,F5", "--coverage", "--format", "csv"]
    for number in range(1, 9):
        yield ["arith.addf", "--type", "f16", "--models", f"B{number}", "--coverage", "--format", "csv"]
        yield ["arith.mulf", "--type", "f32", "--models", f"B{number}", "--coverage", "--format", "csv"]
    yield ["arith.divf", "--type", "bf16", "--models", "all", "--level", "2", "--format", "csv,readmemh,npz"]
    yield ["arith.truncf", "--from", "f32", "--type", "f8E4M3FN", "--models", "list"]
    for profile in PROFILES:
        yield ["arith.addf", "--type", "f16", "--profile", profile, "--format", "csv"]
        yield ["arith.truncf", "--from", "f32", "--type", "f8E4M3FN", "--profile", profile, "--format", "csv"]
        yield ["arith.fptosi", "--from", "f32", "--type", "i16", "--profile", profile, "--format", "csv"]
    for option in (["--denormals", "flush_both"], ["--nan-result", "negative"], ["--tininess", "before"], ["--any-nan"], ["--no-flags"], ["--flags", "--level", "2"], ["--name", "own_name"], ["--level", "exhaustive"], ["--profile", "spec,nan_result=all_ones"]):  # fmt: skip
        yield ["arith.mulf", "--type", "f8E5M2", *option, "--format", "csv,c"]
    for format in FILE_FORMATS:
        yield ["arith.truncf", "--from", "f16", "--type", "f6E3M2FN", "--no-flags", "--format", format]
    for packing in ("containers", "dense", "dense-high"):
        yield ["arith.addf", "--type", "f6E2M3FN", "--pack", packing, "--format", "bin"]
    for place in ("separate", "first", "last"):
        yield ["arith.scaling_extf", "--from", "f4E2M1FN,f8E8M0FNU", "--type", "f32", "--mx", place, "--format", "bin"]
        yield ["arith.scaling_truncf", "--from", "f32,f8E8M0FNU", "--type", "f8E4M3FN", "--mx", place, "--block", "8", "--format", "bin"]  # fmt: skip
    for bits in ("1", "8", "16"):
        yield ["arith.truncf", "--from", "f32", "--type", "bf16", "--rounding", "stochastic", "--random-bits", bits, "--format", "csv"]  # fmt: skip
    for source in ("normal:scale=2", "normal:scale=2@70,corners@20,B3@10", "a=lognormal;b=student_t:df=2", "own.txt", "power_of_two"):  # fmt: skip
        yield ["arith.addf", "--type", "f8E4M3FN", "--operands", source, "--format", "csv"]
    for model in ("exact", "ieee", "chip:hopper", "chip:volta", "chip:cdna3"):
        yield ["tile.mlir", "--mma", model, "--level", "random", "--format", "csv"]
    yield ["stochastic.mlir", "--profile", "spec,program_rounding=stochastic", "--random", "philox:seed=1", "--format", "csv"]  # fmt: skip
    yield ["stochastic.mlir", "--profile", "spec,program_rounding=stochastic", "--random", "lfsr:width=16,taps=16+14+13+11,seed=1", "--format", "jsonl"]  # fmt: skip
    yield ["arith.addf", "--type", "f32", "--format", "dpi"]
    yield ["math.fma", "--type", "f16", "--format", "dpi"]


def vector_chains() -> Iterator[Chain]:
    """Yield a command for each recipe, each with few rows, and a check of one set and a sweep."""
    files = {"tile.mlir": TILE, "stochastic.mlir": STOCHASTIC, "own.txt": OWN_ROWS}
    for recipe in recipes():
        name = f"vectors {' '.join(recipe)}"
        yield one_command(name, ["vectors", *recipe, "-n", "24", "--out", "."], files=files)
    made = ["vectors", "arith.addf", "--type", "f8E4M3FN", "-n", "50", "--format", "readmemh,csv", "--out", "."]
    sets = [
        made,
        ["check-vectors", "addf_f8E4M3FN.hex", "--metadata", "addf_f8E4M3FN.json"],
        ["vectors", "--changed", "addf_f8E4M3FN.json"],
        [
            "vectors", "arith.addf", "--type", "f8E4M3FN", "--profile", "riscv", "-n", "50", "--format", "csv", "--out",
            "o",
        ],
        ["check-vectors", "o/addf_f8E4M3FN.csv", "--metadata", "addf_f8E4M3FN.json"],
        ["check-vectors", "addf_f8E4M3FN.csv", "--op", "arith.addf", "--type", "f8E4M3FN", "--json"],
        ["check-vectors", "addf_f8E4M3FN.csv", "--op", "arith.mulf", "--type", "f8E4M3FN"],
    ]  # fmt: skip
    steps = [Step(f"sets {k} $ {' '.join(words)[:60]}", "command", words) for k, words in enumerate(sets)]
    yield Chain("sets", tuple(steps))


# --- reports, help, names ---------------------------------------------------------------------------------------------------

COMMANDS = ("run", "eval", "formats", "translate", "inspect", "explain", "explain-dot", "explain-error", "explore", "sensitivity", "trace", "verify", "accuracy", "diff", "bisect", "reduce", "fuzz", "validate", "constraints", "workgroups", "vectors", "check-vectors", "cache", "sweep")  # fmt: skip
"""The commands of the base."""

PUBLIC = """\
import dataclasses, inspect, types
import halfulp as hu

def signature(value):
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""

for name in sorted(hu.__all__)[{first}::12]:
    value = getattr(hu, name)
    kind = type(value).__name__ if not inspect.isclass(value) else "class"
    print(f"{name}: {kind} {signature(value) if callable(value) else ''}")
    if inspect.isclass(value):
        for part in sorted(set(dir(value)) - set(dir(Exception)) - set(dir(object))):
            if not part.startswith("_"):
                member = inspect.getattr_static(value, part)
                shown = getattr(member, "__func__", member)
                print(f"    {name}.{part}: {type(member).__name__} {signature(shown) if callable(shown) else ''}")
    elif isinstance(value, types.ModuleType):
        for part in sorted(getattr(value, "__all__", None) or [part for part in dir(value) if not part.startswith("_")]):
            print(f"    {name}.{part} {signature(getattr(value, part))}")
"""

ROWS = """\
import os, sys
sys.path.insert(0, os.environ["SAME_TREE"])
from benchmarks import table
for row in table.all_rows():
    print(row.group, row.name, row.peer, row.unit, sep=" | ")
"""

TABLES = """\
import halfulp as hu
for name, fmt in hu.float_formats.items():
    print(name, fmt)
for name, profile in hu.profiles.items():
    print(name, profile)
print(hu.semantics_version)
"""


def report_chains() -> Iterator[Chain]:
    """Yield help texts, public names, rows of the benchmarks and the conformance report."""
    report = ["verify", "--level=sample", "--jobs=1", "--against=exact,ml_dtypes", "-o", "report.md"]
    yield one_command("report", report)
    checks = [
        ["arith.truncf", "--from", "bf16", "--type", "f8E4M3FN", "--against", "exact,ml_dtypes", "--coverage"],
        ["arith.addf", "--type", "f8E5M2FNUZ", "--against", "ml_dtypes", "-n", "5000", "--json", "--no-known"],
    ]
    for words in checks:
        yield one_command(f"verify {' '.join(words)}", ["verify", *words])
    yield one_command("help", ["--help"], fresh=True)
    yield one_command("version", ["--version"], fresh=True)
    for command in COMMANDS:
        yield one_command(f"help {command}", [command, "--help"])
    for k in range(12):  # a part each, so that a text is short enough to be kept
        name = f"public names {k}"
        yield Chain(name, (Step(name, "python", PUBLIC.replace("{first}", str(k))),), fresh=True)
    for name, code in (("benchmark rows", ROWS), ("tables", TABLES)):
        yield Chain(name, (Step(name, "python", code),), fresh=True)


# --- wrong use ------------------------------------------------------------------------------------------------------------

BAD = {
    "undeclared.mlir": "func.func @f(%a: f32) -> f32 {\n  %0 = arith.addf %a, %b : f32\n  return %0 : f32\n}\n",
    "types.mlir": "func.func @f(%a: f32) -> f16 {\n  %0 = arith.addf %a, %a : f32\n  return %0 : f32\n}\n",
    "unknown.mlir": 'func.func @f(%a: f32) -> f32 {\n  %0 = "other.op"(%a) : (f32) -> f32\n  return %0 : f32\n}\n',
    "divides.mlir": "func.func @f(%a: i32) -> i32 {\n  %z = arith.constant 0 : i32\n  %0 = arith.divsi %a, %z : i32\n  return %0 : i32\n}\n",
    "endless.mlir": "func.func @f() {\n  cf.br ^b\n^b:\n  cf.br ^b\n}\n",
    "empty.mlir": "",
    "bytes.mlir": "ML\u00efR\u0001\u0002",
}
UNLIKELY = {
    "verify": (["arith.adf"], ["arith.addf", "--type=f7"], ["arith.addf", "--type=f32", "--against=nothing"], ["arith.addf"]),
    "accuracy": (["math.expp"], ["math.exp", "--type=f7"], ["math.exp", "--type=bf16", "--against=nothing"]),
    "vectors": ([], ["arith.adf", "--type=f32"], ["arith.addf", "--type=f7"], ["arith.addf"], ["arith.addf", "--type=f32", "--format=tsv"], ["arith.truncf", "--type=f16"], ["arith.addf", "--type=f32", "--models=B99"], ["arith.addf", "--type=f8E4M3FN", "--level=3"]),
    "eval": ([], ["arith.adf"], ["arith.addf", "--input=f32=1"], ["arith.addf", "--input=f32=1", "--input=f16=1"], ["arith.addf", "--input=f7=1", "--input=f7=2"], ["arith.addi", "--input=i8=300", "--input=i8=1"], ["arith.divsi", "--input=i8=1", "--input=i8=0"], ["math.exp", "--input=f32=x"], ["arith.cmpf", "--input=f32=1", "--input=f32=1", "--attr=predicate=xyz"], ["arith.addf", "--input=f32=1", "--input=f32=1", "--profile=nothing"], ["arith.addf", "--input=f32=1", "--input=f32=1", "--profile=spec,nan_result=x"], ["vector.extract"]),
    "explain": ([], ["0.1"], ["x", "f32"], ["0.1", "f7E4M2"], ["arith.adf", "1", "2"], ["arith.addf", "1"], ["scf.for", "1"], ["0.1", "f8E4M3FN", "--rounding=up"], ["infinity", "f32"], ["0x1FF", "f8E4M3FN"]),
    "explain-dot": ([], ["1,2"], ["1,2", "3"], ["1,2", "3,4", "--chip=none"]),
    "formats": (["f7E4M2"], ["f8"], ["fp8"], ["e4m3"], ["bfloat"], ["float16"]),
    "run": (["{file}", "--function=none"], ["{file}", "--input=1"], ["{file}", "--input=f32=1", "--input=f32=2"], ["{file}", "--input=f16=1"], ["{file}", "--max-steps=0"], ["{file}", "--mma=none"], ["{file}", "--input=f32=1", "--expected_output=f32=9"]),
    "sweep": ([], ["arith.addf"], ["arith.addf", "--type=f32"]),
    "check-vectors": (["none.hex"], ["{file}"], ["{file}", "--op=arith.addf"], ["{file}", "--op=arith.addf", "--type=f32"]),
    "explore": (["-o", "none/page.html"],),
    "cache": (["--cleer"],),
    "diff": (["{file}"], ["{file}", "--against=nothing"], ["{file}", "{file}", "--against=exact"], ["{file}", "none.mlir"]),
    "workgroups": (["{file}"], ["{file}", "--function=none"]),
}  # fmt: skip
"""Wrong arguments of each command; ``{file}`` is an example."""


def wrong_commands() -> Iterator[Chain]:
    """Yield commands that are used in a wrong way."""
    yield one_command("wrong: nothing", [])
    yield one_command("wrong: a command", ["runn", "x.mlir"])
    yield one_command("wrong: an option", ["--vers"])
    example = "examples/f8_add.mlir"
    for command in COMMANDS:
        uses = [["--nonsense"], ["none.mlir"], *UNLIKELY.get(command, ())]
        if command not in ("explain", "explain-dot", "formats", "explore", "cache", "verify", "accuracy", "eval"):
            uses += [[file] for file in BAD if file != "endless.mlir"]
        if command in ("run", "trace"):
            uses.append(["endless.mlir", "--max-steps=1000"])
        for words in uses:
            line = [command, *(word.replace("{file}", example) for word in words)]
            yield one_command(f"wrong: {' '.join(line)}", line, files=BAD, examples=True)


def recorded() -> Iterator[Chain]:
    """Yield the commands and the calls that were recorded from the tests."""
    calls = []
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        words, code = row.get("command"), row.get("call", "")
        mark = hashlib.sha256(line.encode()).hexdigest()[:6]
        name = f"recorded {mark} {(code or ' '.join(words))[:90]}".replace("\n", " ")
        if words is not None:
            yield one_command(name, words, files=row["files"], examples=any("examples/" in word for word in words))
        elif row["files"]:
            yield Chain(name, (Step(name, "calls", [[name, code]]),), row["files"])
        else:
            calls.append([name, code])
    for k in range(0, len(calls), 40):
        name = f"calls {k}"
        yield Chain(name, (Step(name, "calls", calls[k : k + 40]),))


def all_chains(base: Path) -> list[Chain]:
    """Return all chains; ``base``: the tree whose documents and examples they are."""
    found = [
        *document_chains(base),
        *report_chains(),
        *example_chains(base),
        *vector_chains(),
        *wrong_commands(),
        *recorded(),
    ]
    names = [name for chain in found for name in chain.names]
    assert len(set(names)) == len(names), sorted({name for name in names if names.count(name) > 1})[:5]
    return found
