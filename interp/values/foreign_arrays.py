"""Arrays of other libraries as NumPy arrays with the same bits: torch tensors, masked arrays, other byte orders."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.aliases import DTYPE_NAMES, known_as
from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.ir.errors import InputError, TypeMismatch

_PACKED = "torch.float4_e2m1fn_x2"


def as_array(data: Any, what: str) -> npt.NDArray[Any]:
    """Return an array, a tensor or nested lists as a NumPy array in the byte order of the machine.

    A torch tensor is detached; its floats that NumPy lacks become those of ml_dtypes, and a packed pair of
    float4_e2m1fn_x2 becomes two elements of the last axis, the low half of the byte first.

    Raises InputError for masked elements, and TypeMismatch for rows of different lengths, and for a tensor that is not
    an ordinary one on the CPU.
    """
    if is_tensor(data):
        return _of_tensor(data, what)
    mask = masked(data)
    if mask is not None and mask.any():
        raise InputError(
            f"{what}: {np.count_nonzero(mask)} of {mask.size} elements are masked",
            hint='fill them with x.filled(…), or make them poison: hu.convert(x, to, masked="poison")',
        )
    if isinstance(data, list | tuple) and _holds_masked(data):
        raise InputError(f"{what}: the list holds masked elements", hint="give one array: np.ma.stack(x)")
    try:
        array = np.asarray(data)
    except (ValueError, RuntimeError) as error:
        raise TypeMismatch(f"{what}: it is not an array: {error}") from None
    except TypeError as error:
        if not isinstance(data, list | tuple) or isinstance(error, TypeMismatch):
            raise
        raise TypeMismatch(f"{what}: it is not an array: {error}", hint="give one tensor: torch.stack(x)") from None
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def masked(data: Any) -> npt.NDArray[np.bool_] | None:
    """Return the mask of a NumPy masked array, in its shape; None for anything else."""
    return np.ma.getmaskarray(data) if isinstance(data, np.ma.MaskedArray) else None


_MOST_AXES = 64


def _holds_masked(nested: list[Any] | tuple[Any, ...], depth: int = 0) -> bool:
    """Tell whether nested lists hold a masked array or element: NumPy would forget the mask."""
    kinds = set(map(type, nested))
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        return any(isinstance(each, np.ma.MaskedArray) and np.ma.is_masked(each) for each in nested)
    if depth > _MOST_AXES or not any(issubclass(kind, list | tuple) for kind in kinds):
        return False
    return any(_holds_masked(each, depth + 1) for each in nested if isinstance(each, list | tuple))


def is_tensor(data: Any) -> bool:
    """Tell whether an object is a torch tensor. torch is not imported for it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(data, getattr(torch, "Tensor", ()))


def _of_tensor(tensor: Any, what: str) -> npt.NDArray[Any]:
    torch: Any = sys.modules["torch"]
    refused = (
        (tensor.device.type != "cpu", f"is on the device {tensor.device}", "x.cpu()"),
        (tensor.layout is not torch.strided, f"has the layout {tensor.layout}", "x.to_dense()"),
        (tensor.is_quantized, f"is quantized ({tensor.dtype})", "x.dequantize(), or x.int_repr()"),
        (tensor.dtype.is_complex, f"is complex ({tensor.dtype})", "x.real and x.imag"),
    )
    for wrong, problem, way in refused:
        if wrong:
            raise TypeMismatch(f"{what}: the tensor {problem}", hint=f"give {way}")
    tensor = tensor.detach().resolve_neg()
    name = str(tensor.dtype)
    if name == _PACKED:
        return _unpacked(tensor.view(torch.uint8).numpy())
    if name.removeprefix("torch.") in vars(np):
        array: npt.NDArray[Any] = tensor.numpy()
        return array
    found = known_as(name)
    if found is None or found not in DTYPE_NAMES:
        raise TypeMismatch(f"{what}: tensors of {name} have no element type", hint="give x.to(torch.int8) or the like")
    bits = tensor.view(torch.uint8 if tensor.element_size() == 1 else torch.int16).numpy()
    return np.asarray(bits.view(_ml_dtype(DTYPE_NAMES[found])))


def _unpacked(pairs: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    codes = np.stack([pairs & 15, pairs >> 4], axis=-1)
    return codes.reshape((*pairs.shape[:-1], -1)).view(_ml_dtype(DTYPE_NAMES["f4E2M1FN"]))


@cache
def _ml_dtype(name: str) -> np.dtype[Any]:
    import ml_dtypes

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


# --- long doubles -----------------------------------------------------------------------------------------------------

LONG_DOUBLE: FloatFormat | None = {63: FORMATS["f80"], 112: FORMATS["f128"]}.get(int(np.finfo(np.longdouble).nmant))
"""The format of NumPy's longdouble on this machine, where it is wider than f64 and one of ours."""


def long_double_codes(array: npt.NDArray[Any]) -> Codes:
    """Return the codes of an array of longdouble: its bytes without those that only fill the space."""
    assert LONG_DOUBLE is not None
    size = array.dtype.itemsize
    raw = np.ascontiguousarray(array).reshape(array.shape).view()
    flat = np.frombuffer(raw.tobytes(), np.uint8).reshape(-1, size)
    codes = np.zeros((len(flat), 16), np.uint8)
    used = -(-LONG_DOUBLE.bits // 8)
    codes[:, :used] = flat[:, :used] if sys.byteorder == "little" else flat[:, -used:][:, ::-1]
    return codes.view("<u8").astype(np.uint64, copy=False).reshape((*array.shape, 2))


def long_doubles(codes: Codes) -> npt.NDArray[Any]:
    """Return codes of `LONG_DOUBLE` as an array of longdouble."""
    shape = codes.shape[:-1]
    raw = np.frombuffer(codes.astype("<u8").tobytes(), np.uint8).reshape(-1, 16)[:, : np.dtype(np.longdouble).itemsize]
    raw = raw if sys.byteorder == "little" else raw[:, ::-1]
    return np.ascontiguousarray(raw).view(np.longdouble).reshape(shape)
