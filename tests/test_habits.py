"""The habits of the repository: subjects of commits, hooks, the workflow and the forms for issues."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from tables import each_row
from tree import ROOT, pyproject

pytestmark = pytest.mark.lint

SCRIPT = ROOT / ".ci" / "commit_subject.py"


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def subjects() -> ModuleType:
    spec = importlib.util.spec_from_file_location("commit_subject", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@each_row(
    ("Add a glossary", None),
    ("Pass the profile to every kernel", None),
    ("Embed the page in the wheel", None),
    ("Say what 0x7F : f8E4M3FN is", None),
    ("x" * 73, "73 characters"),
    ("X" * 72, None),
    ("Merge branch 'main' into a branch whose name makes the subject of this commit much too long", None),
    ('Revert "Adds a glossary."', None),
    ("", "empty"),
    ("   ", "empty"),
    ("add a glossary", "capital"),
    ("Add a glossary.", "period"),
    ("Added a glossary", "imperative"),
    ("Adds a glossary", "imperative"),
    ("Adding a glossary", "imperative"),
    ("Tests that fail", "imperative"),
)
def test_subjects_of_commits(subject: str, wrong: str | None, subjects: ModuleType) -> None:
    found = subjects.problem(subject)
    assert (found is None) == (wrong is None), found
    assert wrong is None or wrong in found


def test_the_hook_reads_the_message_that_git_writes(tmp_path: Path) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    for text, code, printed in (
        (
            "Add a glossary\n\nWords are explained in one place. This line is much longer than a subject may be, so.\n",
            0,
            "",
        ),
        ("# A comment of git.\nAdds a glossary\n", 1, "commit subject: 'Adds' is not imperative"),
        ("# Only comments.\n", 1, "commit subject: it is empty"),
    ):
        message.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, message], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith(printed)


def test_hooks_are_local() -> None:
    """A hook from another repository would need a network, and could change from one day to the next."""
    config = parsed(ROOT / ".pre-commit-config.yaml")
    assert config["default_install_hook_types"] == ["pre-commit", "commit-msg"]
    (local,) = config["repos"]
    assert local["repo"] == "local"
    assert [hook["id"] for hook in local["hooks"]] == ["ruff-check", "ruff-format", "commit-subject"]
    for hook in local["hooks"]:
        assert hook["language"] == "system"
        program, *words = hook["entry"].split()
        assert program == ".venv/bin/python"
        assert words[:2] == ["-m", "ruff"] or (ROOT / words[0]).is_file()


@pytest.mark.parametrize(
    ("base", "files", "options", "code", "compared"),
    [
        ("before", "", "", 1, ["b.mlir"]),
        ("0" * 40, "", "", 1, ["a.mlir", "b.mlir", "sub/c.mlir"]),  # the first push of a branch
        ("", "", "", 1, ["a.mlir", "b.mlir", "sub/c.mlir"]),  # started by hand
        ("", "a.mlir sub/c.mlir", "", 0, ["a.mlir", "sub/c.mlir"]),
        ("", "sub/c.mlir", "--require-all", 3, ["sub/c.mlir"]),
    ],
)
def test_the_action_compares_the_files_that_changed(
    base: str, files: str, options: str, code: int, compared: list[str], tmp_path: Path
) -> None:
    (script,) = (step["run"] for step in parsed(ROOT / "action.yml")["runs"]["steps"] if "env" in step)
    repository, programs = tmp_path / "repository", tmp_path / "bin"
    (repository / "sub").mkdir(parents=True)
    programs.mkdir()
    (programs / "halfulp").write_text(
        '#!/bin/sh\necho "$2"\ncase $2 in b.mlir) exit 1;; sub/*) exit 3;; esac\n', encoding="utf-8"
    )
    (programs / "halfulp").chmod(0o755)
    git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@localhost"]
    subprocess.run([*git, "init", "-q"], check=True)
    for name in ("a.mlir", "sub/c.mlir", "b.mlir"):
        if name == "b.mlir":
            subprocess.run([*git, "tag", "before"], check=True)
        (repository / name).touch()
        subprocess.run([*git, "add", name], check=True)
        subprocess.run([*git, "commit", "-qm", name], check=True)
    given = {"BASE": base, "FILES": files, "PIPELINE": "p", "MLIR": "24", "OPTIONS": options, "REPORTS": "reports"}
    environment = {**os.environ, **given, "PATH": f"{programs}:{os.environ['PATH']}"}
    command = ["bash", "-eo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split(), done.stderr) == (code, compared, "")


def test_the_workflow_runs_all_parts_on_the_oldest_and_the_newest_version() -> None:
    workflow = parsed(ROOT / ".github" / "workflows" / "ci.yml")
    (job,) = workflow["jobs"].values()
    matrix = job["strategy"]["matrix"]
    versions = matrix["python"]
    assert versions == ["3.11", "3.14"]
    assert matrix["include"] == [{"python": version, "parts": "bare"} for version in ("3.12", "3.13")]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert " ".join(matrix["parts"]).split() == re.findall(r"^run_(\w+)\(\)", script, re.MULTILINE)
    assert f">={versions[0]}" == pyproject()["project"]["requires-python"]
    assert job["container"]["image"].startswith("python:${{ matrix.python }}")
    assert [step["run"] for step in job["steps"] if "run" in step][-1] == ".ci/run ${{ matrix.parts }}"
    assert f"Python {versions[0]} to {versions[-1]}" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_release_tries_both_files_before_it_publishes() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    workflow = yaml.load(text, yaml.BaseLoader)  # YAML 1.1 reads the key `on` as true
    assert list(workflow["on"]) == ["workflow_dispatch"]  # a person starts it
    jobs = workflow["jobs"]
    assert (jobs["smoke"]["needs"], jobs["publish"]["needs"]) == ("build", "smoke")
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert workflow["permissions"] == {"contents": "read"}
    matrix = jobs["smoke"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert matrix["file"] == ["whl", "tar.gz"]
    assert [system.partition("-")[0] for system in matrix["system"]] == ["ubuntu", "macos", "windows"]


def test_the_citation_names_the_version() -> None:
    citation, project = parsed(ROOT / "CITATION.cff"), pyproject()["project"]
    assert (citation["title"], citation["version"]) == (project["name"], project["version"])
    assert (citation["license"], citation["cff-version"]) == (project["license"], "1.2.0")


@pytest.mark.parametrize("name", ["wrong_bits", "bug", "feature"])
def test_forms_for_issues(name: str) -> None:
    form = parsed(ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    names = [field["id"] for field in fields]
    assert len(set(names)) == len(names)
    assert any(field.get("validations", {}).get("required") for field in fields)
    assert all(field["attributes"]["label"] for field in fields)


def test_no_address_is_invented() -> None:
    for path in (ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *(ROOT / ".github").rglob("*.*")):
        assert not re.search(r"\w@\w+\.\w", path.read_text(encoding="utf-8")), path
