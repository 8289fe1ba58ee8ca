"""Imports point one way, api -> conformance -> interp -> semantics -> fp_formats, form no cycle, and cost little."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from command import PATIENCE
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tree import LAYERS, modules, pyproject

RANKS = {package: rank for rank, package in enumerate(LAYERS.values())}
# Packages whose import name is not their name on the index; the value is the latter.
DISTRIBUTIONS = {"iree": "iree-base-runtime"}


class Import(NamedTuple):
    """One name that a module imports. ``at_import``: it is imported with the module, not in a later call."""

    target: str
    line: int
    at_import: bool
    relative: bool


def imports_of(source: str) -> Iterator[Import]:
    """Every import of a module, at any depth; ``from a import b`` counts as ``a.b``, import_module("a") as ``a``."""

    def visit(node: ast.AST, at_import: bool) -> Iterator[Import]:
        match node:
            case ast.Import():
                for alias in node.names:
                    yield Import(alias.name, node.lineno, at_import, False)
            case ast.ImportFrom():
                for alias in node.names:
                    yield Import(f"{node.module or ''}.{alias.name}", node.lineno, at_import, node.level > 0)
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if ast.unparse(node.func).endswith(
                ("import_module", "__import__")
            ):
                yield Import(name, node.lineno, at_import, name.startswith("."))
        later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or (
            isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        )
        for child in ast.iter_child_nodes(node):
            yield from visit(child, at_import and not later)

    yield from visit(ast.parse(source), True)


def module_of(target: str, known: set[str]) -> str | None:
    """The module of the package that holds ``target``: itself, or the longest prefix that is one."""
    while target:
        if target in known:
            return target
        target = target.rpartition(".")[0]
    return None


def rank(module: str) -> int:
    """How high a module's layer stands: 0 for fp_formats."""
    return RANKS.get(".".join(module.split(".")[:2]), RANKS["halfulp"])


def violations(sources: dict[str, str]) -> list[str]:
    """What is wrong with the imports among these modules (name to source text), each with module and line."""
    known = set(sources)
    found = []
    graph: dict[str, set[str]] = {}
    for module, source in sources.items():
        for target, line, at_import, relative in imports_of(source):
            where = f"{module}:{line}"
            if relative:
                found.append(f"{where}: relative import of {target}")
                continue
            if target.partition(".")[0] != "halfulp":
                continue
            holder = module_of(target, known)
            assert holder is not None
            if rank(holder) > rank(module):
                found.append(f"{where}: imports {target} from a layer above")
            if at_import and holder != module:
                graph.setdefault(module, set()).add(holder)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        found.append("cycle: " + " <- ".join(error.args[1]))
    return found


def sources() -> dict[str, str]:
    """The text of every module of the tree."""
    return {name: path.read_text(encoding="utf-8") for name, path in modules().items()}


def test_the_tree_obeys() -> None:
    assert violations(sources()) == []


SOUND = {
    "halfulp": "from halfulp.interp.executor import run",
    "halfulp.interp": "",
    "halfulp.interp.executor": "from halfulp.interp import values\nfrom halfulp.fp_formats.formats import FORMATS\n",
    "halfulp.interp.values": "def f():\n    from halfulp.interp.executor import run\n",
    "halfulp.semantics": "",
    "halfulp.fp_formats": "",
    "halfulp.fp_formats.formats": "if TYPE_CHECKING:\n    import halfulp.fp_formats.scalar\n",
    "halfulp.fp_formats.scalar": "import numpy\nimport halfulp.fp_formats.formats\n",
}


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("halfulp.interp.values", "", None),
        (
            "halfulp.fp_formats.scalar",
            "import halfulp.semantics",
            "scalar:1: imports halfulp.semantics from a layer above",
        ),
        ("halfulp.fp_formats.scalar", "def f():\n  from halfulp import run", "imports halfulp.run from a layer above"),
        ("halfulp.fp_formats.scalar", "from halfulp import interp", "imports halfulp.interp from a layer above"),
        ("halfulp.interp", "import halfulp", "imports halfulp from a layer above"),
        (
            "halfulp.semantics",
            "import importlib\nimportlib.import_module('halfulp.interp')",
            "imports halfulp.interp from",
        ),
        (
            "halfulp.fp_formats",
            "if TYPE_CHECKING:\n  from halfulp.interp.values import Value",
            ":2: imports halfulp.interp.values.Value from a layer above",
        ),
        ("halfulp.interp.values", "from .executor import run", "relative import of executor.run"),
        ("halfulp.interp.values", "from . import executor", "relative import"),
        ("halfulp.interp.values", "try:\n  from halfulp.interp.executor import run\nfinally:\n  pass", "cycle: "),
        ("halfulp.fp_formats.formats", "class C:\n  from halfulp.fp_formats.scalar import add", "cycle: "),
    ],
)
def test_the_check_sees_violations(module: str, source: str, complaint: str | None) -> None:
    found = violations(SOUND | {module: source})
    if complaint is None:
        assert found == []
    else:
        assert len(found) == 1
        assert complaint in found[0]


def requirements(texts: list[str]) -> set[str]:
    """The canonical names of requirements."""
    return {canonicalize_name(Requirement(text).name) for text in texts}


def test_third_party_imports_are_declared() -> None:
    project = pyproject()["project"]
    required = requirements(project["dependencies"])
    optional = requirements([text for extra in project.get("optional-dependencies", {}).values() for text in extra])
    undeclared = []
    for module, source in sources().items():
        for target, line, at_import, _ in imports_of(source):
            top = target.partition(".")[0]
            if top == "halfulp" or top in sys.stdlib_module_names:
                continue
            allowed = required if at_import else required | optional
            if canonicalize_name(DISTRIBUTIONS.get(top, top)) not in allowed:
                undeclared.append(f"{module}:{line}: {top}, imported {'at once' if at_import else 'when used'}")
    assert undeclared == []


# Optional or slow to import: loaded where they are used, if at all.
SLOW = {
    *("bitstring", "dask", "distributed", "iree", "matplotlib", "numba", "pandas", "rich", "scipy"),
    *("build", "hypothesis", "mypy", "pytest", "setuptools"),
}


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
