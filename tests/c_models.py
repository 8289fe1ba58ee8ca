"""Compile models in C, and run them on arrays of codes."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from halfulp.conformance.vectors.c_model import CModel
from halfulp.conformance.vectors.columns import Chunk, Column
from halfulp.fp_formats.formats import storage_dtype

STRICT = ("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
"""A compiler that accepts nothing but C99, without any warning."""


def compiled(model: CModel, inputs: Sequence[Column], outputs: Sequence[Column], folder: Path) -> ctypes.CDLL:
    """Return a library with a function ``run`` that calls the model for each row of arrays."""
    (folder / f"{model.name}.c").write_text(model.source, encoding="utf-8")
    columns = [*inputs, *outputs]
    arrays = ", ".join(f"{storage_dtype(column.width).name}_t *{column.name}" for column in columns)
    given = ", ".join([f"{c.name}[k]" for c in inputs] + [f"&{c.name}[k]" for c in outputs])
    loop = f'#include "{model.name}.c"\nvoid run(long rows, {arrays});\nvoid run(long rows, {arrays})\n{{\n    long k;\n    for (k = 0; k < rows; k++)\n        {model.name}({given});\n}}\n'
    (folder / f"{model.name}_loop.c").write_text(loop, encoding="utf-8")
    library = folder / f"{model.name}.so"
    subprocess.run(
        [*STRICT, "-O1", "-shared", "-fPIC", f"{model.name}_loop.c", "-o", library.name], cwd=folder, check=True
    )
    return ctypes.CDLL(str(library))


def outputs_of(library: ctypes.CDLL, inputs: Chunk, outputs: Sequence[Column]) -> Chunk:
    """Return the outputs of a model for some rows."""
    made = tuple(np.zeros(len(inputs[0]), storage_dtype(column.width)) for column in outputs)
    arrays = [np.ascontiguousarray(codes) for codes in inputs] + list(made)
    library.run(ctypes.c_long(len(inputs[0])), *(ctypes.c_void_p(array.ctypes.data) for array in arrays))
    return made
