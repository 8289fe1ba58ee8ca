"""The installed package: the wheel, in a venv with its declared dependencies alone, and the editable install."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from command import PATIENCE
from packaging.requirements import Requirement
from tree import LAYERS, ROOT, modules, modules_of, package_files, pyproject

from halfulp.fp_formats.aliases import how_to_install

pytestmark = pytest.mark.lint

PLAIN = {name: value for name, value in os.environ.items() if name != "HALFULP_BACKEND"}
"""The environment of a user, also where the tests run by another backend, which a clean venv does not have."""

IMPORT_ALL = """
import importlib, json, pkgutil, sys
import halfulp
names = ["halfulp", *(module.name for module in pkgutil.walk_packages(halfulp.__path__, "halfulp."))]
print(json.dumps({name: importlib.import_module(name).__file__ for name in names}))
"""
IMPORT_NAMED = """
import importlib, json, sys
print(json.dumps({name: importlib.import_module(name).__file__ for name in json.loads(sys.argv[1])}))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output and error of a command; its failure shows both."""
    done = subprocess.run(
        command,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=PLAIN,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree without anything that git would not have: above all, without an old build/."""
    copy = tmp_path_factory.mktemp("source") / "halfulp source"  # a space: paths of users have them
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis"
    )
    shutil.copytree(ROOT, copy, ignore=ignored)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built from the source distribution, as an index would get the two."""
    folder = tmp_path_factory.mktemp("dist")
    output = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source, cwd=folder)
    assert "Warning" not in output, output
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def clean_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a venv with the wheel and its declared dependencies: these are linked from here, so that no network is
    needed.
    """
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    where = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    wanted = list(pyproject()["project"]["dependencies"])
    linked = set()
    while wanted:
        requirement = Requirement(wanted.pop())
        if requirement.name in linked or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        linked.add(requirement.name)
        distribution = metadata.distribution(requirement.name)
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}:
            (Path(where) / top).symlink_to(Path(str(distribution.locate_file(top))))
        wanted += distribution.requires or ()
    return python


@pytest.mark.added
def test_every_folder_with_an_init_is_a_declared_package() -> None:
    setuptools = pyproject()["tool"]["setuptools"]
    folders = {path.rpartition("/")[0].replace("/", ".") for path in package_files() if path.endswith("/__init__.py")}
    assert set(setuptools["packages"]) == folders, "write the folder into `packages` of pyproject.toml"
    assert setuptools["package-dir"] == {package: folder for folder, package in LAYERS.items()}


def test_no_folder_of_the_tree_can_be_imported_as_the_package() -> None:
    # Nothing that starts in the repository root may import halfulp from there by accident.
    assert not (ROOT / "halfulp").exists()
    assert not (ROOT / "halfulp.py").exists()


def test_no_two_files_install_to_one_path() -> None:
    # A module of api/ named as another folder would shadow that folder in the editable install.
    assert not {path.stem for path in (ROOT / "api").iterdir()} & LAYERS.keys()


@pytest.mark.long
def test_the_wheel_holds_the_package_and_nothing_else(source: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (license_name,) = (name for name in names if name.endswith("/licenses/LICENSE"))
        license_text = archive.read(license_name).decode()
    (manual,) = (name for name in names if name.endswith(".data/data/share/man/man1/halfulp.1"))
    held = {name for name in names if ".dist-info/" not in name} - {manual}
    # Data files need a line under [tool.setuptools.package-data], folders one under packages.
    assert held == package_files(source).keys()
    assert "halfulp/py.typed" in held
    assert {name.partition("/")[0] for name in held} == {"halfulp"}
    assert "Apache License" in license_text


@pytest.mark.long
def test_every_module_of_the_wheel_imports_with_its_declared_dependencies_alone(
    source: Path, wheel: Path, clean_python: Path, tmp_path: Path
) -> None:
    imported = json.loads(run(clean_python, "-I", "-c", IMPORT_ALL, cwd=tmp_path))
    assert imported.keys() == modules_of(package_files(source)).keys()
    assert all(Path(file).is_relative_to(clean_python.parent.parent) for file in imported.values())
    run(sys.executable, "-m", "pip", "--python", clean_python, "check", cwd=tmp_path)


def test_the_console_script_of_the_wheel_runs(clean_python: Path, tmp_path: Path) -> None:
    assert "usage" in run(clean_python.parent / "halfulp", "--help", cwd=tmp_path).lower()
    # `man` finds pages in the folder `share` beside each `bin` of PATH.
    assert (clean_python.parent.parent / "share/man/man1/halfulp.1").is_file()


@pytest.mark.long
def test_the_editable_install_resolves_to_the_tree(tmp_path: Path) -> None:
    expected = {name: str(path) for name, path in modules().items()}
    imported = json.loads(run(sys.executable, "-I", "-c", IMPORT_NAMED, json.dumps(list(expected)), cwd=tmp_path))
    assert imported == expected


FROM_AN_INDEX = re.compile(r"""pip install (?:-\S+ )*['"]?halfulp\b""")
"""A command that asks an index for halfulp, which is on none."""

TEXTS = {".py", ".pyi", ".md", ".ipynb", ".yml", ".toml", ".html", ".js"}


def test_no_text_installs_halfulp_from_an_index() -> None:
    folders = [ROOT / name for name in (*LAYERS, "benchmarks", "docs", "examples")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in TEXTS]
    files += [path for path in ROOT.iterdir() if path.suffix in TEXTS]
    assert len(files) > 300
    assert [str(path) for path in files if FROM_AN_INDEX.search(path.read_text(encoding="utf-8"))] == []
    assert FROM_AN_INDEX.search("pip install 'halfulp[plot]'")
    assert FROM_AN_INDEX.search("pip install halfulp\n")
    assert not FROM_AN_INDEX.search("`pip install .` installs the package `halfulp`")


def test_the_conda_recipe_needs_what_the_wheel_needs() -> None:
    project = pyproject()["project"]
    text = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    needed = re.findall(r"^    - (\S+) >=(\S+)$", text.partition("  run:\n")[2].partition("\ntests:")[0], re.MULTILINE)
    declared = [re.match(r"([\w-]+)>=([\d.]+)", each) for each in project["dependencies"]]
    assert dict(needed) == {m[1]: m[2] for m in declared if m} | {
        "python": project["requires-python"].removeprefix(">=")
    }
    assert f'version: "{project["version"]}"' in text
    (script,) = project["scripts"].items()
    assert f"- {' = '.join(script)}\n" in text


def test_hints_name_extras_that_exist() -> None:
    extras = pyproject()["project"]["optional-dependencies"]
    texts = [path.read_text(encoding="utf-8") for path in modules().values()]
    named = {name for text in texts for name in re.findall(r"""how_to_install\(["'](\w+)["']\)""", text)}
    assert {"plot", "scale", "prove"} <= named <= set(extras)
    assert "'.[plot]'" in how_to_install("plot")
