"""StableHLO's own parser, printer and interpreter, as jaxlib has them, in a process of their own.

An op that the interpreter cannot run ends the process: it is started again, and the question counts as not answered.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


class Reference:
    """A process that answers questions about modules in text."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def _ask(self, what: str, text: str) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", __file__],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([what, text]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"died": self._process.wait()}

    def printed(self, text: str) -> str | None:
        """Return the text of a module as StableHLO prints it; None if it rejects the module."""
        return self._ask("print", text).get("printed")

    def error(self, text: str) -> str | None:
        """Return the first line of the error for a module, without its place; None if there is no error."""
        return self._ask("print", text).get("error")

    def results(self, text: str) -> list[list[int]] | None:
        """Return the results of @main without arguments, each as the codes of its elements in row-major order; None if
        the interpreter cannot run it. The results are to be integers of 8, 16, 32 or 64 bits.
        """
        return self._ask("run", text).get("results")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def _serve() -> None:
    import re

    import numpy as np
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, stablehlo

    context, registry = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in (stablehlo, chlo):
        dialect.register_dialect(context)
    mhlo.register_mhlo_dialect(context)
    stablehlo.register_stablehlo_passes()
    with context, ir.Location.unknown():
        empty = ir.Module.parse("func.func @f() { return }")
        passmanager.PassManager.parse("builtin.module(vhlo-legalize-to-stablehlo)").run(empty.operation)
        for line in sys.stdin:
            what, text = json.loads(line)
            try:
                module = ir.Module.parse(text)
                if what == "print":
                    answer: dict[str, Any] = {"printed": str(module)}
                else:
                    arrays = [np.array(each) for each in stablehlo.eval_module(module, [])]
                    answer = {"results": [each.view(f"u{each.itemsize}").reshape(-1).tolist() for each in arrays]}
            except ir.MLIRError as error:
                found = re.search(r'"-":\d+:\d+: (.*)', str(error))
                answer = {"error": found[1] if found else str(error)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _serve()
