"""``halfulp completion``: what bash offers, and what the scripts for other shells say."""

import subprocess

import pytest
from command import Command

from halfulp.command.completion import commands_by_path
from halfulp.command.main import COMMANDS

# Words as bash splits them, and what it offers for the last one.
OFFERED = (
    ("halfulp ve", "verify vectors"),
    ("halfulp vectors ", "make check sweep coverage"),
    ("halfulp vectors coverage ", "report"),
    ("halfulp run x.mlir --on", "--on-ub"),
    ("halfulp run --on-ub = ", "raise poison"),
    ("halfulp run --on-ub = po", "poison"),
    ("halfulp run --on-ub po", "poison"),
    ("halfulp run --on-ub=po", "--on-ub=poison"),
    ("halfulp explain d", "dot"),
    ("halfulp explain dot --whi", "--which"),
    ("halfulp completion ", "bash zsh fish"),
    ("halfulp run x.ml", ""),
)
ASK = """
for line; do
    read -ra COMP_WORDS <<<"$line"
    [[ $line != *' ' ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    _halfulp
    echo "${COMPREPLY[*]}"
done
"""


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run halfulp in this process."""
    return Command(capsys)


def test_what_bash_offers(command: Command) -> None:
    code, script, _ = command("completion", "bash")
    assert code == 0
    lines = [line for line, _ in OFFERED]
    found = subprocess.run(["bash", "-c", script + ASK, "bash", *lines], capture_output=True, text=True, check=True)
    assert dict(zip(lines, found.stdout.split("\n"), strict=False)) == dict(OFFERED)
    assert found.stderr == ""


def test_every_command_and_option_is_known(command: Command) -> None:
    tree = commands_by_path()
    assert {name.partition(" --")[0] for name in COMMANDS} <= tree.keys()
    assert {"--trace", "--shadow", "--html"} <= tree["run"].options.keys()  # of two forms
    code, script, _ = command("completion", "fish")
    assert code == 0
    for path, node in tree.items():
        for option in node.options:
            name = f"-l {option[2:]}" if option[1] == "-" else f"-s {option[1:]}"
            assert f"'__halfulp_at {path}".strip() + f"' {name} " in script, (path, option)
    zsh = command("completion", "zsh")[1]
    assert zsh == "autoload -U +X bashcompinit && bashcompinit\n" + command("completion", "bash")[1]
