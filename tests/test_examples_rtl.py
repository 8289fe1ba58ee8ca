"""examples/rtl: its README's commands print what it says, and its bench finds what is wrong with an adder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import PATIENCE

pytestmark = pytest.mark.iverilog

FOLDER = Path(__file__).parent.parent / "examples" / "rtl"
FIELDS = {"WORD": 44, "A": 36, "B": 28, "RESULT": 20, "FLAGS": 12, "POISON": 8, "OPEN": 0}
"""The words of vectors with fastmath=nnan,nsz."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the example's sources in a folder of their own."""
    made = tmp_path_factory.mktemp("rtl")
    for source in FOLDER.glob("*.sv"):
        shutil.copy(source, made)
    return made


def shell(command: str, folder: Path) -> tuple[str, int]:
    """Return the output of a command, and its exit code; `halfulp` is that of this Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout, done.returncode


@pytest.fixture(scope="module")
def vectors(folder: Path) -> str:
    said = shell("halfulp vectors make arith.addf --type f8E4M3FN --level exhaustive --format readmemh --out .", folder)
    assert said == ("", 0)
    return "addf_f8E4M3FN.hex"


@pytest.fixture(scope="module")
def fast(folder: Path) -> str:
    """Vectors with poison and open bits."""
    options = "--attr fastmath=nnan,nsz --level exhaustive --format readmemh --out . --name fast"
    assert shell(f"halfulp vectors make arith.addf --type f8E4M3FN {options}", folder) == ("", 0)
    return "fast.hex"


def simulated(folder: Path, vectors: str, wrong: tuple[str, str] = ("", ""), **parameters: int) -> tuple[str, int]:
    """Return the output of the bench for the adder, in which ``wrong[0]`` is replaced by ``wrong[1]``."""
    source = (folder / "f8_add.sv").read_text()
    assert wrong[0] in source
    (folder / "device.sv").write_text(source.replace(*wrong, 1))
    given = " ".join(f"-Pbench.{name}={value}" for name, value in parameters.items())
    assert shell(f"iverilog -g2012 -Wall {given} -o device bench.sv device.sv", folder) == ("", 0)
    return shell(f"vvp -n device +vectors={vectors}", folder)


def test_the_readme_says_what_is_printed(folder: Path) -> None:
    blocks = re.findall(r"```console\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    commands = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    # One shell for all, since one sets a variable for the next.
    script, _ = shell("\n".join(f"{part.splitlines()[0]}\necho '--- {k}'" for k, part in enumerate(commands)), folder)
    printed = re.split(r"--- \d+\n", script)[:-1]
    assert printed == ["".join(part.splitlines(keepends=True)[1:]) for part in commands]
    assert len(commands) == 13


WRONG = {
    "toward zero": ("lost > half || (lost == half && shift != 0 && kept[0])", "1'b0", 25_548),
    "ties away": ("&& kept[0]", "", None),
    "no overflow to NaN": ("rounded >= 8'(NAN)", "rounded > 8'(NAN)", None),
    "-0": ("sum == 0 ? a[7] & b[7]", "sum == 0 ? a[7]", 127),
    "never inexact": ("overflow || lost != 0", "overflow", None),
    "an X": ("assign result = nan", "assign result = nan ? 'x : nan", 1_020),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_the_bench_finds_what_is_wrong(name: str, folder: Path, vectors: str) -> None:
    old, new, count = WRONG[name]
    printed, code = simulated(folder, vectors, (old, new))
    found = re.search(r"^(\d+) of 65536 vectors differ$", printed, re.MULTILINE)
    assert found is not None
    assert code == 1
    assert int(found[1]) == count or (count is None and int(found[1]) > 0)


def test_check_vectors_finds_it_too(folder: Path, vectors: str) -> None:
    """The README shows the wrong rounding; this test is about flags."""
    told, _ = simulated(folder, vectors, WRONG["never inexact"][:2])
    judged, code = shell(
        f"vvp -n device +vectors={vectors} +print | halfulp vectors check - --op arith.addf --type f8E4M3FN", folder
    )
    differing = re.search(r"65,536 rows, ([\d,]+) differ", judged)
    assert code == 1
    assert differing is not None
    assert f"{int(differing[1].replace(',', ''))} of 65536 vectors differ" in told


def test_what_is_open_may_differ(folder: Path, fast: str) -> None:
    """A zero of the wrong sign, and numbers in place of NaNs, are right where they are open, and only there."""
    zeros = ("sum == 0 ? a[7] & b[7]", "sum == 0 ? 1'b1")
    assert simulated(folder, fast, zeros, **FIELDS) == ("0 of 65536 vectors differ\n", 0)
    nans = ("assign result = nan ? nan_operand", "assign result = nan ? 8'h00")
    assert simulated(folder, fast, nans, **FIELDS) == ("0 of 65536 vectors differ\n", 0)
    assert simulated(folder, fast, WRONG["toward zero"][:2], **FIELDS)[1] == 1
    assert simulated(folder, fast, zeros, **{**FIELDS, "OPEN": -1})[1] == 1


def test_vectors_that_are_not_there_are_no_success(folder: Path, vectors: str) -> None:
    assert "none.hex: no vector in row 0 of 65536" in simulated(folder, "none.hex")[0]
    shell(f"head -1005 {vectors} > short.hex", folder)
    printed, code = shell("vvp -n device +vectors=short.hex", folder)
    assert "short.hex: no vector in row 1000 of 65536" in printed
    assert code == 1
    assert shell("vvp -n device", folder)[1] == 1
