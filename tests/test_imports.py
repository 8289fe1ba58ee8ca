"""Imports point one way, api -> conformance -> interp -> semantics -> fp_formats, form no circle, and cost little.

Within api, they point down from room to room.

A circle counts wherever its imports stand: at the top of a file, inside a function, or under TYPE_CHECKING.
"""

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from command import PATIENCE
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tables import each_row
from tree import LAYERS, modules, pyproject

pytestmark = pytest.mark.lint

RANKS = {package: rank for rank, package in enumerate(LAYERS.values())}
# Packages whose import name is not their name on the index; the value is the latter.
DISTRIBUTIONS = {"flint": "python-flint", "iree": "iree-base-runtime", "z3": "z3-solver"}

# What a function may import, and why. Everything else is imported at the top of its file.
IN_FUNCTIONS = {
    "cocotb": "optional",
    "bitstring": "slow: 30 ms, for single bit patterns alone",
    "distributed": "optional",
    "flint": "slow: 30 ms; only integers of thousands of digits need it",
    "halfulp.fp_formats.paths.disk": "slow: 3 ms; only tables and machine code that are kept on disk need it",
    "halfulp.conformance.vectors.diagnosis": "slow: 25 ms; only rows that differ need it",
    "halfulp.conformance.comparing.tosa_bounds": "slow: 40 ms, of the dialect tosa; only bounds of TOSA need it",
    "halfulp.conformance.comparing.tosa_functions": "slow: as tosa_bounds, which it imports",
    "halfulp.conformance.vectors.tosa_rows": "slow: 40 ms, of the dialect tosa; only bounds of TOSA need it",
    "halfulp.conformance.files": "few commands write files, and none should load conformance to read",
    "halfulp.fp_formats.reals": "slow: 30 ms, of python-flint; only elementary functions need it",
    "halfulp.interp.dialects": "slow: up to 40 ms; a run needs what a dialect brings to it, such as its function "
    "libraries, only if its program uses it",
    "halfulp.interp.run.batch": "slow: 10 ms; only batches need it",
    "halfulp.interp.run.compiled": "slow: 8 ms; only programs that become machine code need it",
    "halfulp.interp.arrays": "slow: 10 ms; only arrays and tensors in files need it",
    "halfulp.interp.text.printer": "slow: 5 ms; a run prints ops in errors alone",
    "halfulp.interp.text.skipping": "slow: 2 ms; only files with ops of an unknown form need it",
    "halfulp.interp.values.functions": "slow: 30 ms, of sums, matrix units and elementary functions; only arithmetic on "
    "values needs it",
    "halfulp.interp.bytecode": "slow: 12 ms; a program in text does without",
    "halfulp.semantics.matrix_units.chips": "slow: 10 ms; only ops on tiles, and a run with another model than the exact one, "
    "need it",
    "halfulp.interp.ir.errors": "slow: 100 ms, of NumPy; the list of commands needs it only to print errors",
    "halfulp.accuracies": "slow: 50 ms; of the command `verify` only errors in ulp need it",
    "halfulp.chips": "slow: 50 ms; of the command `explain` only the ranking of chips needs it",
    "halfulp.explorer": "slow: 10 ms; of the command `formats` only the page needs it",
    "halfulp.tensors": "slow: 20 ms, of quantizing; only operands and results in files need it",
    "halfulp.texts": "slow: 1 ms; of the command `eval` only the flags need it",
    "halfulp.traces": "slow: 30 ms, of python-flint; only a run with steps, shadows or flags needs it",
    "importlib.metadata": "slow: 40 ms; only a type name that no table has needs it, for plugins",
    "jax": "optional",
    "llvmlite": "optional",
    "matplotlib": "optional",
    "ml_dtypes": "slow: 15 ms; a run on plain floats and integers does without",
    "onnx": "optional",
    "pyarrow": "optional",
    "rich": "slow: 40 ms; only a terminal and tables need it",
    "torch": "optional",
    "torch_mlir": "optional",
    "triton": "optional",
    "z3": "optional",
}


# The floors of the rooms of api, from the lowest. A file or a folder imports from lower floors alone; the commands stand
# at the top, so nothing but the entry point imports them.
FLOORS = (
    (
        "described", "errors", "guessing", "inputs", "number_reader",
        "register", "release", "rounding_steps", "texts",
    ),
    ("converting", "drawing", "evaluating", "exact_reals", "loading", "reals"),
    ("measuring", "quantizing", "running"),
    ("accuracies", "bisecting", "codegen", "fixed", "p3109", "quant", "tensors", "traces"),
    ("explanations", "importing", "iree", "sensitivities", "summing"),
    ("aten", "chips", "explorer", "golden", "plot"),
    ("cocotb",),
    ("command",),
    ("__main__",),
)  # fmt: skip


def row_of(target: str) -> str | None:
    """Return the row of `IN_FUNCTIONS` that allows a function to import ``target``, or None."""
    return next((row for row in IN_FUNCTIONS if f"{target}.".startswith(f"{row}.")), None)


class Import(NamedTuple):
    """One name that a module imports. ``lazy``: inside a function; ``for_types``: under TYPE_CHECKING."""

    target: str
    line: int
    lazy: bool
    for_types: bool
    relative: bool


@cache
def imports_of(source: str) -> tuple[Import, ...]:
    """Return every import of a module; ``from a import b`` counts as ``a.b``, import_module("a") as ``a``."""

    def visit(node: ast.AST, lazy: bool, for_types: bool) -> Iterator[Import]:
        match node:
            case ast.Import():
                for alias in node.names:
                    yield Import(alias.name, node.lineno, lazy, for_types, False)
            case ast.ImportFrom():
                for alias in node.names:
                    target = f"{node.module or ''}.{alias.name}"
                    yield Import(target, node.lineno, lazy, for_types, node.level > 0)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield Import(name, node.lineno, lazy, for_types, name.startswith("."))
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for_types = for_types or (
            isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        )
        for child in ast.iter_child_nodes(node):
            yield from visit(child, lazy, for_types)

    return tuple(visit(ast.parse(source), False, False))


def module_of(target: str, known: set[str]) -> str | None:
    """Return the module of the package that holds ``target``: itself, or the longest prefix that is one."""
    while target:
        if target in known:
            return target
        target = target.rpartition(".")[0]
    return None


def rank(module: str) -> int:
    """Return how high a module's layer stands: 0 for fp_formats."""
    return RANKS.get(".".join(module.split(".")[:2]), RANKS["halfulp"])


def violations(sources: dict[str, str]) -> list[str]:
    """Return what is wrong with the imports of these modules (name to source text), each with module and line."""
    known = set(sources)
    found = []
    graph: dict[str, set[str]] = {}
    for module, source in sources.items():
        for target, line, lazy, _, relative in imports_of(source):
            where = f"{module}:{line}"
            if relative:
                found.append(f"{where}: relative import of {target}")
                continue
            top = target.partition(".")[0]
            if lazy and row_of(target) is None:
                found.append(f"{where}: imports {target} inside a function")
            if top != "halfulp":
                continue
            holder = module_of(target, known)
            assert holder is not None
            if rank(holder) > rank(module):
                found.append(f"{where}: imports {target} from a layer above")
            if holder != module:
                graph.setdefault(module, set()).add(holder)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found.append("circle: " + " <- ".join(error.args[1]))
    return found


def sources() -> dict[str, str]:
    """Return the text of every module of the tree."""
    return {name: path.read_text(encoding="utf-8") for name, path in modules().items()}


def test_the_tree_obeys() -> None:
    assert violations(sources()) == []


def api_room(module: str) -> str | None:
    """Return the file or folder of api that holds a module; None in another layer, and for api itself."""
    return module.split(".")[1] if rank(module) == RANKS["halfulp"] and module != "halfulp" else None


def upward(sources: dict[str, str]) -> list[str]:
    """Return the imports in rooms of api that lead to a room which is not on a lower floor, with their places."""
    floor_of = {room: number for number, floor in enumerate(FLOORS) for room in floor}
    known, found = set(sources), []
    for module, source in sources.items():
        room = api_room(module)
        for target, line, *_ in imports_of(source) if room is not None else ():
            holder = module_of(target, known)
            other = None if holder is None else api_room(holder)
            if other not in (None, room) and floor_of[str(other)] >= floor_of[str(room)]:
                found.append(f"{module}:{line}: imports {target}")
    return found


def test_every_room_of_api_has_a_floor() -> None:
    rooms = [room for floor in FLOORS for room in floor]
    assert len(rooms) == len(set(rooms))
    assert set(rooms) == {api_room(module) for module in sources()} - {None}


def test_the_rooms_of_api_obey() -> None:
    assert upward(sources()) == []


def test_the_check_of_floors_sees_an_arrow() -> None:
    made = {
        "halfulp": "",
        "halfulp.inputs": "def f():\n  import halfulp.command.console",
        "halfulp.command": "",
        "halfulp.command.console": "from halfulp import files",
    }
    assert upward(made) == ["halfulp.inputs:2: imports halfulp.command.console"]


def test_every_row_of_the_table_is_used() -> None:
    used = {row_of(target) for text in sources().values() for target, _, lazy, *_ in imports_of(text) if lazy}
    assert IN_FUNCTIONS.keys() - used == set()


SOUND = {
    "halfulp": "from halfulp.interp.executor import run",
    "halfulp.interp": "",
    "halfulp.interp.executor": "from halfulp.interp import values\nfrom halfulp.fp_formats.formats import FORMATS\n",
    "halfulp.interp.values": "def f():\n    import llvmlite\n",
    "halfulp.semantics": "",
    "halfulp.fp_formats": "",
    "halfulp.fp_formats.formats": "if TYPE_CHECKING:\n    import numpy.typing\n",
    "halfulp.fp_formats.scalar": "import numpy\nimport halfulp.fp_formats.formats\n",
}
LAZY = "def f():\n    from halfulp.interp.executor import run"
FOR_TYPES = "if TYPE_CHECKING:\n    from halfulp.fp_formats.scalar import add"


@each_row(
    ("halfulp.interp.values", "", []),
    ("halfulp.fp_formats.scalar", "import halfulp.semantics", [":1: imports halfulp.semantics from a layer above"]),
    (
        "halfulp.fp_formats.scalar",
        "def f():\n  from halfulp import run",
        [":2: imports halfulp.run inside a function", ":2: imports halfulp.run from a layer above"],
    ),
    ("halfulp.fp_formats.scalar", "from halfulp import interp", ["imports halfulp.interp from a layer above"]),
    ("halfulp.interp", "import halfulp", ["imports halfulp from a layer above"]),
    (
        "halfulp.semantics",
        "import importlib\nimportlib.import_module('halfulp.interp')",
        ["imports halfulp.interp from"],
    ),
    (
        "halfulp.fp_formats",
        "if TYPE_CHECKING:\n  from halfulp.interp.values import Value",
        [":2: imports halfulp.interp.values.Value from a layer above"],
    ),
    ("halfulp.interp.values", "from .executor import run", ["relative import of executor.run"]),
    ("halfulp.interp.values", "from . import executor", ["relative import"]),
    ("halfulp.interp.values", "try:\n  from halfulp.interp.executor import run\nfinally:\n  pass", ["circle: "]),
    ("halfulp.interp.values", LAZY, [":2: imports halfulp.interp.executor.run inside a function", "circle: "]),
    ("halfulp.interp.values", "def f():\n    import decimal", [":2: imports decimal inside a function"]),
    ("halfulp.fp_formats.formats", FOR_TYPES, ["circle: "]),
    ("halfulp.fp_formats.formats", "class C:\n  from halfulp.fp_formats.scalar import add", ["circle: "]),
)
def test_the_check_sees_violations(module: str, source: str, complaints: list[str]) -> None:
    found = violations(SOUND | {module: source})
    assert len(found) == len(complaints)
    assert all(complaint in text for complaint, text in zip(complaints, found, strict=True))


def requirements(texts: list[str]) -> set[str]:
    """Return the canonical names of requirements."""
    return {canonicalize_name(Requirement(text).name) for text in texts}


def test_third_party_imports_are_declared() -> None:
    project = pyproject()["project"]
    required = requirements(project["dependencies"])
    optional = requirements([text for extra in project.get("optional-dependencies", {}).values() for text in extra])
    undeclared = []
    for module, source in sources().items():
        for target, line, lazy, for_types, _ in imports_of(source):
            at_import = not (lazy or for_types)
            top = target.partition(".")[0]
            if top == "halfulp" or top in sys.stdlib_module_names:
                continue
            allowed = required if at_import else required | optional
            if canonicalize_name(DISTRIBUTIONS.get(top, top)) not in allowed:
                undeclared.append(f"{module}:{line}: {top}, imported {'at once' if at_import else 'when used'}")
    assert undeclared == []


# Optional or slow to import: loaded where they are used, if at all.
SLOW = {
    *(
        "bitstring", "cocotb", "dask", "distributed", "iree", "flint", "llvmlite", "matplotlib", "pandas", "rich",
        "scipy", "z3",
    ),
    *("build", "hypothesis", "mypy", "pytest", "setuptools"),
}  # fmt: skip


@pytest.mark.parametrize("statement", ["import halfulp", "import halfulp.command.main"])
def test_import_pulls_in_nothing_slow(statement: str, tmp_path: Path) -> None:
    script = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    loaded = {re.split(r"\.", name)[0] for name in done.stdout.split()}
    assert "halfulp" in loaded
    assert loaded & SLOW == set()
