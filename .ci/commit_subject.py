"""Check the subject of a commit message: an imperative sentence with at most 72 characters and no period.

A commit-msg hook of Git: the argument is the file with the message.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MOST = 72
# Git writes these subjects itself.
WRITTEN_BY_GIT = re.compile(r"(Merge|Revert|fixup!|squash!|amend!) ")
# "Added", "Adds" and "Adding" are not imperative. These verbs only look like it.
NOT_IMPERATIVE = re.compile(r"\w+(ed|ing|[^s]s)\b")
IMPERATIVE = frozenset(
    {"Alias", "Bias", "Bring", "Embed", "Exceed", "Feed", "Focus", "Need", "Proceed", "Seed", "Speed"}
)


def problem(subject: str) -> str | None:
    """Return what is wrong with a subject, or None."""
    if WRITTEN_BY_GIT.match(subject):
        return None
    first = subject.partition(" ")[0]
    if not subject.strip():
        return "it is empty"
    if len(subject) > MOST:
        return f"it has {len(subject)} characters; write at most {MOST}, and the reason in the body"
    if not first[0].isupper():
        return "write the first word with a capital letter"
    if subject.endswith("."):
        return "leave out the period at the end"
    if NOT_IMPERATIVE.fullmatch(first) and first not in IMPERATIVE:
        return f"'{first}' is not imperative; write for example 'Add', not 'Added', 'Adds' or 'Adding'"
    return None


def main() -> int:
    """Check the message in the file that is the argument. Return 1 if its subject is not right."""
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    subject = next((line for line in lines if not line.startswith("#")), "")
    wrong = problem(subject)
    if wrong is not None:
        print(f"commit subject: {wrong}", file=sys.stderr)
    return int(wrong is not None)


if __name__ == "__main__":
    sys.exit(main())
