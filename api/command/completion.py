"""``halfulp completion``: a script with which a shell completes commands, options and their choices.

It is made of the parsers of all commands, so that nothing of halfulp runs while a user presses the tab key.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from halfulp.command.console import SUCCESS, write
from halfulp.command.execution import Sources
from halfulp.command.main import COMMANDS, command_parser
from halfulp.command.option import Command
from halfulp.described import argument

SHELLS = ("bash", "zsh", "fish")

_ABOUT = """\
Print a script that completes commands, options and their choices in a shell:

  eval "$(halfulp completion bash)"             # in ~/.bashrc
  eval "$(halfulp completion zsh)"              # in ~/.zshrc, after compinit
  halfulp completion fish > ~/.config/fish/completions/halfulp.fish

Where nothing is known, the shell completes names of files. Make the script again after an update of halfulp.
"""


@dataclass(frozen=True, kw_only=True)
class CompletionArguments:
    """The options of ``halfulp completion``."""

    shell: Literal["bash", "zsh", "fish"] = argument("SHELL", "the shell: bash, zsh or fish", choices=SHELLS)


def print_completion(arguments: CompletionArguments, sources: Sources) -> int:
    """Execute the command, and return its exit code."""
    tree = commands_by_path()
    write(_fish(tree) if arguments.shell == "fish" else _bash(tree, arguments.shell))
    return SUCCESS


COMPLETION = Command(CompletionArguments, print_completion, _ABOUT)


@dataclass
class Node:
    """The words that may follow others: ``words``, commands and choices of an argument, with their help; ``options``,
    with their help and their choices.
    """

    words: dict[str, str] = field(default_factory=dict)
    options: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)


def commands_by_path() -> Mapping[str, Node]:
    """Return the nodes of all commands by their words. The forms that an option selects share a node."""
    tree = {"": Node(options={"--version": ("print the version and exit", ()), "--help": ("show a help", ())})}
    for name, place in COMMANDS.items():
        path = name.partition(" --")[0]
        words = path.split()
        for depth, word in enumerate(words):
            summary = place.summary if depth + 1 == len(words) else ""
            parent = tree.setdefault(" ".join(words[:depth]), Node())
            parent.words[word] = parent.words.get(word) or summary
        node = tree.setdefault(path, Node())
        for action in command_parser(name)._actions:
            _add(node, action)
    return tree


def _add(node: Node, action: argparse.Action) -> None:
    if action.help == argparse.SUPPRESS:
        return
    choices = tuple(map(str, action.choices or ()))
    if not action.option_strings:
        node.words.update(dict.fromkeys(choices, ""))
    for option in action.option_strings:
        told, before = node.options.get(option, ("", ()))
        node.options[option] = (told or action.help or "", before or choices)


# --- bash and zsh -----------------------------------------------------------------------------------------------------

_FUNCTION = """\
_halfulp() {
    local current=${COMP_WORDS[COMP_CWORD]} path= option= before= values= options= words= next at=1
    while ((at < COMP_CWORD)); do
        next="${path:+$path }${COMP_WORDS[at]}"
        case "$next" in
            PATHS) path=$next ;;
            *) break ;;
        esac
        at=$((at + 1))
    done
    if [[ $current == --*=* ]]; then # zsh keeps such words whole
        before="${current%%=*}=" option=${current%%=*} current=${current#*=}
    elif [[ $current == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 1]} current=
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    else
        option=${COMP_WORDS[COMP_CWORD - 1]}
    fi
    case "$path $option" in
VALUES    esac
    case "$path" in
OPTIONS    esac
    if [[ -n $values ]]; then
        COMPREPLY=($(compgen -P "$before" -W "$values" -- "$current"))
    elif [[ -z $before && $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [[ -z $before && $option != = ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    fi
}
complete -o default -F _halfulp halfulp
"""


def _bash(tree: Mapping[str, Node], shell: str) -> str:
    values = "".join(
        f"        {shlex.quote(f'{path} {option}')}) values={shlex.quote(' '.join(choices))} ;;\n"
        for path, node in tree.items()
        for option, (_, choices) in node.options.items()
        if choices
    )
    options = "".join(
        f"        {shlex.quote(path)}) options={shlex.quote(' '.join(node.options))} "
        f"words={shlex.quote(' '.join(node.words))} ;;\n"
        for path, node in tree.items()
    )
    paths = "|".join(shlex.quote(path) for path in tree if path)
    script = _FUNCTION.replace("PATHS", paths).replace("VALUES", values).replace("OPTIONS", options)
    return script if shell == "bash" else f"autoload -U +X bashcompinit && bashcompinit\n{script}"


# --- fish -------------------------------------------------------------------------------------------------------------

_FISH = """\
function __halfulp_at
    set -l words (commandline -opc)
    set -l found
    for word in $words[2..-1]
        contains -- (string join ' ' $found $word) PATHS; or break
        set -a found $word
    end
    test "$found" = "$argv"
end
"""


def _fish(tree: Mapping[str, Node]) -> str:
    paths = " ".join(shlex.quote(path) for path in tree if path)
    return _FISH.replace("PATHS", paths) + "".join(_fish_lines(tree))


def _fish_lines(tree: Mapping[str, Node]) -> Iterator[str]:
    for path, node in tree.items():
        here = f"complete -c halfulp -n {_quoted(f'__halfulp_at {path}'.strip())}"
        if path not in COMMANDS:
            yield f"{here} -f\n"  # no file can follow
        for word, told in node.words.items():
            yield f"{here} -a {_quoted(word)}{f' -d {_quoted(_short(told))}' if told else ''}\n"
        for option, (told, choices) in node.options.items():
            name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            listed = f" -x -a {_quoted(' '.join(choices))}" if choices else ""
            yield f"{here} {name} -d {_quoted(_short(told))}{listed}\n"


def _quoted(text: str) -> str:
    """Return a word for fish: in single quotes only a backslash and a quote need one more backslash."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _short(told: str) -> str:
    """Return the first part of a help text, for a list."""
    return told.replace("%%", "%").partition(";")[0].partition(" (")[0][:70]
