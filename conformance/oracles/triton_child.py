"""A program that reads, verifies and prints modules by Triton's library. `mlir_opt` starts it as a child process.

    python -P triton_child.py PACKAGE --serve=BYTES

Requests and replies are those of `mlir_child`. The interface of the library is private: this is that of triton 3.9. It
prints no generic form and runs no pipelines that are given as text. This file imports nothing of halfulp.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import tempfile
from importlib import import_module
from typing import Any

_PLACE = re.compile(r'loc\("[^"]*":(\d+):(\d+)\): error: ')
_IGNORED = {"--allow-unregistered-dialect", "--mlir-disable-threading"}
MODULES_OF_A_CONTEXT = 2000
"""A context keeps every type and attribute that it has seen, so it is made anew after so many modules."""


class Child:
    """The library of one package, with what it prints to standard error."""

    def __init__(self, package: str) -> None:
        self._library: Any = import_module(f"{package}._C.libtriton")
        self.version: str = import_module(package).__version__
        self._context: Any = None
        self._left = 0
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        os.dup2(self._said.fileno(), 2)

    def reply(self, options: list[str], text: str) -> dict[str, Any]:
        """Return what the library prints of a module, or its errors, with the exit code of mlir-opt."""
        unknown = [one for one in options if one not in _IGNORED]
        if unknown:
            return {"code": 1, "printed": "", "said": f"error: unknown options: {' '.join(unknown)}"}
        if not self._left:
            self._context, self._left = self._library.ir.context(), MODULES_OF_A_CONTEXT
            for part in (self._library.ir, self._library.nvidia, self._library.amd):
                part.load_dialects(self._context)
        self._left -= 1
        self._said.seek(0)
        self._said.truncate()
        with tempfile.NamedTemporaryFile("w", suffix=".mlir", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            try:
                module = self._library.ir.parse_mlir_module(file.name, self._context)
                if module.verify():
                    return {"code": 0, "printed": module.str_nodebug() + "\n", "said": ""}
            except RuntimeError as error:
                print(error, file=sys.stderr, flush=True)
        self._said.seek(0)
        said = self._said.read().decode("utf-8", "replace")
        return {"code": 1, "printed": "", "said": _PLACE.sub(r"<stdin>:\1:\2: error: ", said)}


def main() -> None:
    """Answer requests until standard input ends."""
    package, serve = sys.argv[1:]
    limit = int(serve.partition("=")[2])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    child = Child(package)
    print(json.dumps({"version": child.version}), file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(child.reply(request["options"], request["text"])), file=replies, flush=True)


if __name__ == "__main__":
    main()
