"""Files of coverage as regressions write and merge them."""

import json
import re
from pathlib import Path

from documents import DOCS
from tables import each_row
from vector_files import run

MUL = ("arith.mulf", "--type", "f8E4M3FN")
REPORT = ("vectors", "coverage", "report")


def test_a_set_and_the_results_of_a_device(tmp_path: Path) -> None:
    """Both have the same rows, so that both cover the same."""
    asked = ("vectors", "make", *MUL, "-n", "64", "--out", "set", "--coverage-file", "set.json")
    done = run(*asked, cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "", "")
    device = "set/mulf_f8E4M3FN.tv"
    assert run("vectors", "check", device, "--coverage-file", "device.json", cwd=tmp_path).code == 0
    one, two = ((tmp_path / name).read_text() for name in ("set.json", "device.json"))
    assert one == two
    merged = run(*REPORT, "set.json", "device.json", "-o", "all.json", cwd=tmp_path)
    assert merged.code == 0
    head, *lines = merged.out.splitlines()
    assert head == "arith.mulf f8E4M3FN, profile spec: 2 runs, 128 rows"
    assert lines[0].startswith("B1 ")
    hit = sum(len(model["hit"]) for model in json.loads(one)["models"].values())
    total = hit + sum(len(model["missing"]) for model in json.loads(one)["models"].values())
    assert lines[-1] == f"{hit} of {total} buckets are hit ({100 * hit / total:.1f} %)"
    told = run(*REPORT, "all.json", "--json", cwd=tmp_path)
    assert told.out == (tmp_path / "all.json").read_text()
    assert json.loads(told.out)["runs"] == 2


def test_rows_that_differ_count_as_run(tmp_path: Path) -> None:
    """What was run is covered, whatever the device gave."""
    (tmp_path / "got.tv").write_text("38 38 39 00\n")
    done = run("vectors", "check", "got.tv", "--op", *MUL, "--coverage-file", "got.json", cwd=tmp_path)
    assert done.code == 1
    assert "+one +one" in json.loads((tmp_path / "got.json").read_text())["models"]["B1"]["hit"]


def test_the_shards_of_a_sweep(tmp_path: Path) -> None:
    """Parts of a sweep merge to the whole, also if their shards were there already."""
    sweep = ("vectors", "sweep", "mma.m1n1k4.f32.e4m3.e4m3", "-n", "600", "--level", "random", "--shard-rows", "64")
    for number in (0, 1, 1):
        asked = ("--out", "s", "--shard", f"{number}/2", "--coverage-file", f"{number}.json")
        assert run(*sweep, *asked, cwd=tmp_path).code == 0
    assert run(*sweep, "--out", "t", "--workers", "1", "--coverage-file", "t.json", cwd=tmp_path).code == 0
    told = run(*REPORT, "0.json", "1.json", "--json", cwd=tmp_path)
    assert json.loads(told.out) | {"runs": 1} == json.loads((tmp_path / "t.json").read_text())
    table = run(*REPORT, "t.json", cwd=tmp_path).out
    assert table.startswith("mma.m1n1k4.f32.e4m3.e4m3, model exact: 1 run, 600 rows\nT1 ")
    refused = run(*sweep, "--out", "s", "--join", "--coverage-file", "x.json", cwd=tmp_path)
    assert (refused.code, "--join, which makes no shards" in refused.err) == (2, True)


@each_row(
    ((), 2, "the following arguments are required: FILE"),
    (("none.json",), 2, "cannot read 'none.json'"),
    (("a.json", "b.json"), 2, "b.json cannot be merged with a.json: it has 'arith.addf f8E4M3FN, profile spec'"),
    (("a.json", "set/addf_f8E4M3FN.json"), 2, "set/addf_f8E4M3FN.json is not a file of coverage"),
    (("a.json", "-o", "none/x.json"), 2, "none/x.json"),
)
def test_what_is_refused(files: tuple[str, ...], code: int, message: str, tmp_path: Path) -> None:
    for name, op in (("a", "arith.mulf"), ("b", "arith.addf")):
        made = ("vectors", "make", op, *MUL[1:], "-n", "8", "--models", "B3", "--coverage-file", f"{name}.json")
        assert run(*made, "--out", "set", cwd=tmp_path).code == 0
    done = run(*REPORT, *files, cwd=tmp_path)
    assert done.code == code
    assert message in done.err


def test_coverage_alone_lists_its_commands(tmp_path: Path) -> None:
    assert "report" in run("vectors", "coverage", "--help", cwd=tmp_path).out
    done = run("vectors", "coverage", cwd=tmp_path)
    assert done.code == 2
    assert "halfulp vectors coverage" in done.err


def test_the_example_of_the_user_documentation(tmp_path: Path) -> None:
    text = (DOCS / "vector-files.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"<!-- coverage -->\n\n```console\n(.*?)```", text, re.DOTALL)
    commands = re.findall(r"^\$ halfulp (.*)\n((?:(?!\$).*\n)*)", shown, re.MULTILINE)
    assert len(commands) == 5
    for command, printed in commands:
        done = run(*command.split(), cwd=tmp_path)
        assert (done.code, done.out + done.err) == (0, printed)
