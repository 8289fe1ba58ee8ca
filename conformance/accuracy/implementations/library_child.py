"""Call a symbol of a shared library on codes: run as a program of its own, so that a crash ends nothing else.

It imports nothing of halfulp. The arguments are a JSON object; the operands are files of codes, and so are the results.
"""

import ctypes
import json
import mmap
import sys
from pathlib import Path
from typing import Any


class _F16(ctypes.c_float):
    """A 16-bit float in the low half of a vector register: its code is that of the low half of an f32."""


class _F32(ctypes.c_float):
    pass


class _F64(ctypes.c_double):
    pass


class _F80(ctypes.c_longdouble):
    pass


# Subclasses are passed and returned as they are: ctypes would convert the plain types to Python's floats.
_FLOATS: dict[str, Any] = {"f16": _F16, "bf16": _F16, "f32": _F32, "f64": _F64, "f80": _F80}
_CODES: dict[int, Any] = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}


def main() -> int:
    """Call the symbol for each element. Return 3 if there is no such library or symbol."""
    asked = json.loads(sys.argv[1])
    try:
        function = ctypes.CDLL(asked["library"])[asked["symbol"]]
    except (OSError, AttributeError) as error:
        sys.stderr.write(str(error))
        return 3
    count = asked["count"]
    operands = [bytearray(Path(path).read_bytes()) for path in asked["operands"]]
    with open(asked["place"], "r+b") as file:
        place = (ctypes.c_int64 * 1).from_buffer(mmap.mmap(file.fileno(), 8))
    if asked["form"] == "array":
        result = bytearray(asked["bytes"] * count)
        buffers = [(ctypes.c_char * len(data)).from_buffer(data) for data in (*operands, result)]
        function.restype = None
        function(*buffers, ctypes.c_size_t(count))
    else:
        kinds = [_FLOATS[kind] if asked["form"] == "float" else _CODES[kind] for kind in asked["kinds"]]
        *types, returned = kinds
        function.argtypes, function.restype = types, returned
        arrays = [(kind * count).from_buffer(data) for kind, data in zip(types, operands, strict=True)]
        results = (returned * count)()
        for k, arguments in enumerate(zip(*arrays, strict=True)):
            place[0] = k
            results[k] = function(*arguments)
        result = bytearray(results)
    Path(asked["result"]).write_bytes(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
