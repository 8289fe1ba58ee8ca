"""README and documentation as tests see them: the pages, their examples, and what these print.

A Python example is a block ```` ```python ````; what it prints stands in a block ```` ```text ```` right after it, and without
one it prints nothing. A command is a line ``$ halfulp …`` of a block ```` ```console ````, its output the lines up to the
next command. Blocks of a page are executed in their order: the commands in one folder, which holds ``examples/``.
"""

import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tree import ROOT

README = ROOT / "README.md"
DOCS = ROOT / "docs"

GENERATED = re.compile(r"<!-- generated: ([\w ]+) -->\n.*?<!-- end of \1 -->\n", re.DOTALL)


class Command(NamedTuple):
    """A command of a page, without the word halfulp, and what it prints."""

    line: str
    printed: str


def pages() -> list[Path]:
    """README and every page of the documentation."""
    return [README, *sorted(DOCS.glob("*.md"))]


def written(page: Path) -> str:
    """Return a page without what was generated."""
    return GENERATED.sub("", page.read_text(encoding="utf-8"))


def programs(page: Path) -> list[tuple[str, str]]:
    """Return each Python example with what it prints."""
    found = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", written(page), re.DOTALL | re.MULTILINE)
    return [(code, printed) for code, printed in found]


def commands(page: Path) -> list[Command]:
    """Return each command with what it prints."""
    blocks = re.findall(r"^```console\n(.*?)^```", written(page), re.DOTALL | re.MULTILINE)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    split = [part.replace("\\\n", "").partition("\n") for part in parts]
    return [Command(line.removeprefix("halfulp "), printed) for line, _, printed in split]


def shown_commands(page: Path) -> list[str]:
    """Commands that are shown without what they print: lines ``halfulp …`` of blocks that are indented or of a shell."""
    text = written(page).replace("\\\n", "")
    shell = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    fenced = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = [*re.findall(r"^    (.*)$", fenced, re.MULTILINE), *"\n".join(shell).splitlines()]
    return [line.partition("halfulp ")[2] for line in lines if re.match(r"(srun )?halfulp ", line)]


def printed_by(code: str, name: str) -> str:
    """Return the output of a program. It runs in an empty folder beside ``examples/``, which keeps the files that it writes."""
    output = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(output):
        Path("examples").symlink_to(ROOT / "examples")
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    return output.getvalue()


def write_examples(folder: Path) -> None:
    """Write each example of the Python API as a file, for a checker of types."""
    folder.mkdir(parents=True, exist_ok=True)
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    for k, code in enumerate(re.findall(r"^```python\n((?:import|from) .*?)^```", page, re.DOTALL | re.MULTILINE)):
        (folder / f"example_{k:03}.py").write_text(code, encoding="utf-8")


if __name__ == "__main__":
    write_examples(Path(sys.argv[1]))
