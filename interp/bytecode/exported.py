"""The files of `jax.export`: a FlatBuffer with a portable artifact of StableHLO in it."""

from __future__ import annotations

import struct

from halfulp.interp.ir.blobs import MAGIC

_ARTIFACT = 13
"""The number of the field of the root table that holds the artifact (`serialization.fbs` of JAX)."""


def artifact_in(data: bytes | memoryview) -> bytes | memoryview | None:
    """Return the artifact of StableHLO in ``data``, the bytes that `jax.export.Exported.serialize` returns; None for
    other bytes.
    """
    try:
        (table,) = struct.unpack_from("<I", data)
        (back,) = struct.unpack_from("<i", data, table)
        # A table begins with the distance to the list of the places of its fields; a negative place is an error too.
        places = table - back
        (size,) = struct.unpack_from("<H", data, max(0, places))
        entry = 4 + 2 * _ARTIFACT
        if places < 0 or size < entry + 2:
            return None
        (place,) = struct.unpack_from("<H", data, places + entry)
        (forward,) = struct.unpack_from("<I", data, table + place)
        vector = table + place + forward
        (length,) = struct.unpack_from("<I", data, vector)
    except struct.error:
        return None
    found = data[vector + 4 : vector + 4 + length]
    return found if place and len(found) == length and bytes(found[: len(MAGIC)]) == MAGIC else None
