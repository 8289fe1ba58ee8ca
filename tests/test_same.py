"""`same.py` sees a difference that is planted, uses new names in the tree, and accepts what is listed."""

from pathlib import Path

import pytest
import same
from same import Change, NewCommand, Renames
from same_cases import Chain, Step, all_chains, one_command
from tables import each_row
from tree import ROOT

pytestmark = pytest.mark.lint

RENAMES = Renames(
    commands=(
        NewCommand("vectors", ("vectors", "check"), "--changed"),
        NewCommand("vectors", ("vectors", "make")),
        NewCommand("trace", ("run", "--trace")),
    ),
    options={("run", "--expected_output"): "--expected-output", ("", "--seed"): "--first"},
    names={"hu.round": "hu.round_to", "hu.p3109": "hu.formats.p3109"},
    keywords={("hu.accuracy", "between"): "range"},
)


@each_row(
    ("vectors arith.addf --type f32", "vectors make arith.addf --type f32"),
    ("vectors --changed x.json", "vectors check --changed x.json"),
    ("vectors --changed=x.json", "vectors check --changed=x.json"),
    ("trace f.mlir --seed=3", "run --trace f.mlir --first=3"),
    ("run f.mlir --expected_output=f32=1", "run f.mlir --expected-output=f32=1"),
    ("eval --expected_output", "eval --expected_output"),
    ("", ""),
)
def test_commands_get_their_new_names(old: str, new: str) -> None:
    assert same.renamed_words(old.split(), RENAMES) == new.split()


@each_row(
    ("x = hu.round(y, 'f16')  # kept", "x = hu.round_to(y, 'f16')"),
    ("hu.accuracy(f, between=(0, 1), n=2)", "hu.accuracy(f, range=(0, 1), n=2)"),
    ("hu.p3109.convert(1)", "hu.formats.p3109.convert(1)"),
    ("hu.rounded(1)  # kept", "hu.rounded(1)  # kept"),
    ("no program )", "no program )"),
)
def test_programs_get_the_new_names(old: str, new: str) -> None:
    assert same.renamed_code(old, RENAMES) == new


def test_cells_and_outcomes_get_the_new_names() -> None:
    cell = "%%bash\nhalfulp trace x.mlir | head\necho halfulp"
    assert same.renamed_cell(cell, RENAMES) == "%%bash\nhalfulp run --trace x.mlir | head\necho halfulp"
    assert same.renamed_cell("%%writefile a.txt\nhu.round", RENAMES) == "%%writefile a.txt\nhu.round"
    step = Step("c", "calls", [["one", "hu.round(1)"]])
    assert same.renamed_step(step, RENAMES).content == [["one", "hu.round_to(1)"]]
    said = "try halfulp trace FILE or hu.round, not hu.rounded or halfulp trace-it"
    assert (
        same.renamed_text(said, RENAMES)
        == "try halfulp run --trace FILE or hu.round_to, not hu.rounded or halfulp trace-it"
    )


MAIN = "import sys\nprint({printed}, *sys.argv[1:])\nopen('made.txt', 'w').write({written})\nsys.exit({code})\n"


def planted(folder: Path, printed: str = "1", written: str = "''", code: str = "0") -> Path:
    """Make a tree whose package prints a value and its arguments, writes a file, and exits with a code."""
    (folder / "api").mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[tool.setuptools.package-dir]\nhalfulp = "api"\n', encoding="utf-8")
    (folder / "api" / "__init__.py").write_text(f"def convert(x): return x / {printed}\n", encoding="utf-8")
    main = MAIN.format(printed=printed, written=written, code=code)
    (folder / "api" / "__main__.py").write_text(main, encoding="utf-8")
    return folder


CHAINS = [
    one_command("a command", ["a", "b"], fresh=True),
    Chain("calls", (Step("calls", "calls", [["one", "hu.convert(4)"], ["two", "hu.convert('x')"]]),), fresh=True),
    Chain("cells", (Step("cells", "cells", ["x = 4", "%%bash\nhalfulp c | head", "x + 1"]),), fresh=True),
    Chain("crash", (Step("crash", "python", "import os; os.abort()"), Step("after", "python", "print(3)")), fresh=True),
]


@pytest.fixture(autouse=True)
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is made in a folder of the test."""
    monkeypatch.setattr(same, "BUILD", tmp_path / "build")


def outcomes(tree: Path, chains: list[Chain] = CHAINS) -> dict[str, str]:
    return same.run_chains(chains, tree, ROOT / "examples", jobs=1)


def test_a_planted_difference_is_seen(tmp_path: Path) -> None:
    base = outcomes(planted(tmp_path / "base"))
    assert base["a command"] == "exit code 0\n--- stdout\n1 a b\n\n--- file made.txt\n"
    assert base["one"] == "float 4.0"
    assert base["two"].startswith("TypeError: unsupported operand")
    assert [line for line in base["cells"].splitlines() if line in ("1 c", "int 5")] == ["1 c", "int 5"]
    assert base["crash"].startswith("stopped by signal 6")
    assert base["after"] == "exit code 0\n--- stdout\n3\n"
    assert same.differences(base, outcomes(planted(tmp_path / "equal")), Renames(), ())[0] == []
    for name, change, differs in (
        ("printed", {"printed": "2"}, {"a command", "one", "cells"}),
        ("written", {"written": "'new'"}, {"a command", "cells"}),
        ("code", {"code": "3"}, {"a command", "cells"}),
    ):
        found, _ = same.differences(base, outcomes(planted(tmp_path / name, **change)), Renames(), ())
        assert {difference.case for difference in found} == differs, name
    assert "-exit code 0" in found[0].shown(9)
    assert "+exit code 3" in found[0].shown(9)


def test_listed_changes_are_accepted() -> None:
    base = {"docs/a": "error: no value of f8", "docs/b": "5", "eval c": "halfulp trace"}
    head = {"docs/a": "error: f8 has no value", "docs/b": "6", "eval c": "halfulp run --trace"}
    text = Change("docs/*", "clearer text", r"no value of (\w+)", r"\1 has no value")
    unused = Change("docs/*", "nothing", "never", "x")
    anything = Change("docs/b", "counted again")
    found, used = same.differences(base, head, RENAMES, (unused, text))
    assert [difference.case for difference in found] == ["docs/b"]
    assert (used[text], used[unused]) == (1, 0)
    found, used = same.differences(base, head, RENAMES, (text, anything))
    assert (found, used[anything]) == ([], 1)
    found, _ = same.differences({"x": "1"}, {}, RENAMES, ())
    assert found[0].head == "the case did not run"


def test_the_usage_before_an_error_does_not_count() -> None:
    said = "exit code 2\n--- stderr\nusage: halfulp run [-h]\n     [-b] FILE\nhalfulp run: error: no FILE\n"
    assert same.without_usage(said) == "exit code 2\n--- stderr\nhalfulp run: error: no FILE\n"
    shown = "exit code 0\n--- stdout\nusage: halfulp run [-h]\n\noptions:\n"
    assert same.without_usage(shown) == shown


def test_outcomes_of_the_base_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = planted(tmp_path / "base")
    first = same.base_outcomes("c0ffee", tree, CHAINS[:1], tmp_path / "kept")
    ran: list[str] = []
    run = same.run_chains

    def noted(chains: list[Chain], tree: Path, examples: Path) -> dict[str, str]:
        ran.extend(chain.name for chain in chains)
        return run(chains, tree, examples)

    monkeypatch.setattr(same, "run_chains", noted)
    assert same.base_outcomes("c0ffee", tree, CHAINS[:1], tmp_path / "kept") == first
    assert ran == []
    more = [*CHAINS[:1], one_command("another", ["z"], fresh=True)]
    both = same.base_outcomes("c0ffee", tree, more, tmp_path / "kept")
    assert (ran, both["a command"]) == (["another"], first["a command"])


def test_there_are_cases_of_each_kind() -> None:
    chains = all_chains(ROOT)
    names = [name for chain in chains for name in chain.names]
    counts = {
        kind: sum(name.startswith(kind) for name in names)
        for kind in ("docs/", "examples/", "vectors ", "wrong: ", "recorded ")
    }
    assert counts["vectors "] >= 200
    assert counts["wrong: "] + counts["recorded "] >= 600
    assert counts["docs/"] >= 150
    assert counts["examples/"] >= 60
    assert {"report", "help", "public names 0", "benchmark rows"} <= set(names)
