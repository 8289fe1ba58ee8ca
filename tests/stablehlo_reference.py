"""StableHLO's own parser, printer and interpreter, and XLA, as jaxlib has them, in a process of their own.

An op that the interpreter cannot run ends the process: it is started again, and the question counts as not answered.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt


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
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        died = {"died": self._process.wait()}
        self.close()
        self._process = None
        return died

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

    def compiled(self, text: str, arguments: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]] | None:
        """Return the results of @main as XLA on a CPU computes them; None if it cannot run it."""
        found = self._ask("compile", json.dumps([text, _spelled(arguments)])).get("arrays")
        return None if found is None else [array_of(*each) for each in found]

    def timed(
        self, text: str, arguments: Sequence[npt.NDArray[Any]], rounds: int
    ) -> tuple[float, list[npt.NDArray[Any]]] | None:
        """Return the least CPU time in seconds that the interpreter takes for @main in several rounds, and the results;
        None if it cannot run it. Arguments and results have the dtypes of NumPy.
        """
        found = self._ask("time", json.dumps([text, _spelled(arguments), rounds]))
        return (found["seconds"], [array_of(*each) for each in found["arrays"]]) if "arrays" in found else None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def _spelled(arrays: Sequence[npt.NDArray[Any]]) -> list[Any]:
    """Return arrays as `array_of` takes them."""
    return [(each.dtype.name, each.shape, each.tobytes().hex()) for each in arrays]


def array_of(dtype: str, shape: Sequence[int], data: str) -> npt.NDArray[Any]:
    """Return the array with the bytes that hexadecimal digits spell."""
    import ml_dtypes
    import numpy as np

    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    return np.frombuffer(bytes.fromhex(data), kind).reshape(shape)


def _compiled(text: str, given: Sequence[Any]) -> list[Any]:
    """Run a module by XLA, with arguments, and not constants, which XLA folds by other code."""
    import jax
    import numpy as np
    from jax.extend.backend import get_backend
    from jaxlib import xla_client

    config: Any = jax.config
    config.update("jax_enable_x64", True)
    backend = get_backend("cpu")
    devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
    executable = backend.compile_and_load(text, devices, xla_client.CompileOptions())
    arrays = [jax.device_put(array_of(*each)) for each in given]
    found = executable.execute_sharded(arrays).disassemble_into_single_device_arrays()
    return _spelled([np.asarray(each[0]) for each in found])


def _timed(text: str, given: Sequence[Any], rounds: int) -> tuple[float, list[Any]]:
    """Run a module several times by the interpreter."""
    import time

    import numpy as np
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir.dialects import stablehlo

    module = ir.Module.parse(text)
    lowering = "builtin.module(func.func(chlo-legalize-to-stablehlo))"  # the interpreter has no chlo
    passmanager.PassManager.parse(lowering).run(module.operation)
    arrays: list[Any] = [array_of(*each) for each in given]
    arguments = [ir.DenseElementsAttr.get(each) for each in arrays]
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        results = stablehlo.eval_module(module, arguments)
        seconds.append(time.process_time() - start)
    return min(seconds), _spelled([np.array(each) for each in results])


def _serve() -> None:
    import os
    import re

    os.environ["JAX_PLATFORMS"] = "cpu"

    import numpy as np
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, sdy, stablehlo

    context, registry = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(context)
    mhlo.register_mhlo_dialect(context)
    stablehlo.register_stablehlo_passes()
    with context, ir.Location.unknown():
        empty = ir.Module.parse("func.func @f() { return }")
        passmanager.PassManager.parse("builtin.module(vhlo-legalize-to-stablehlo)").run(empty.operation)
        answer: dict[str, Any]
        for line in sys.stdin:
            what, text = json.loads(line)
            if what == "compile":
                try:
                    answer = {"arrays": _compiled(*json.loads(text))}
                except Exception as error:
                    answer = {"error": str(error)}
                print(json.dumps(answer), flush=True)
                continue
            try:
                if what == "time":
                    seconds, found = _timed(*json.loads(text))
                    print(json.dumps({"seconds": seconds, "arrays": found}), flush=True)
                    continue
                module = ir.Module.parse(text)
                if what == "print":
                    answer = {"printed": str(module)}
                else:
                    arrays = [np.array(each) for each in stablehlo.eval_module(module, [])]
                    answer = {"results": [each.view(f"u{each.itemsize}").reshape(-1).tolist() for each in arrays]}
            except Exception as error:
                placed = re.search(r'"-":\d+:\d+: (.*)', str(error))
                answer = {"error": placed[1] if placed else str(error)}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _serve()
