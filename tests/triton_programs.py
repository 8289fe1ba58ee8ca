"""The kernels of the folder data/triton: their arguments."""

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

PROGRAMS = Path(__file__).parent / "data" / "triton"
DTYPES = {
    "fp32": np.float32,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i32": np.int32,
    "i8": np.int8,
    "u8": np.uint8,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz,
}


def row(name: str) -> dict[str, Any]:
    """Return the row of a program."""
    found: dict[str, Any] = json.loads((PROGRAMS / "programs.json").read_text())[name]
    return found


def arguments(name: str) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the arguments of a program by name, with zeros for its results, and the grid."""
    described = row(name)
    data = np.load(PROGRAMS / f"{name}.npz")
    given: dict[str, Any] = {}
    for argument in described["args"]:
        if "value" in argument:
            given[argument["name"]] = argument["value"]
            continue
        dtype = np.dtype(DTYPES[argument["type"]])
        key = f"in_{argument['name']}"
        given[argument["name"]] = np.array(data[key]).view(dtype) if key in data else np.zeros(argument["shape"], dtype)
    return given, tuple(described["grid"])
