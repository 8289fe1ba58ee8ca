"""Linear algebra and Fourier transforms on arrays of codes, in a stated order, each operation rounded.

Matrices are the last two axes of elements; the axes before them are batches. Elements are floats or complex numbers.
The parts of complex numbers are one more axis after these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, FloatFormat, ints_to_codes
from halfulp.semantics.complex_numbers import of_parts, parts_of
from halfulp.semantics.kernel import Kernel


@dataclass(frozen=True)
class Arithmetic:
    """The arithmetic of one type of elements.

    ``kernels``: the kernels by name: "add", "subtract", "multiply", "divide", "sqrt" and "negate". ``fmt``: the format
    of the floats, or of the parts of complex numbers.
    """

    kernels: Mapping[str, Kernel]
    fmt: FloatFormat
    is_complex: bool

    def __call__(self, name: str, *operands: Codes) -> Codes:
        """Return the results of one operation, rounded. Operands broadcast."""
        outcome = self.kernels[name].array(*np.broadcast_arrays(*operands))
        if any(mask.any() for _, mask in outcome.faults):
            raise ArithmeticError(f"a result is NaN, which {self.fmt} does not have")
        return outcome.results[0]

    def conjugate(self, a: Codes) -> Codes:
        """Return the conjugates of complex numbers; floats as they are."""
        if not self.is_complex:
            return a
        real, imaginary = parts_of(a, self.fmt)
        return of_parts(real, imaginary ^ imaginary.dtype.type(self.fmt.sign_mask or 0), self.fmt)

    def number(self, value: int) -> Codes:
        """Return the code of an integer, rounded to the type of the elements, as an array of no dimensions."""
        code = ints_to_codes([scalar.from_integer(self.fmt, value).code], self.fmt.bits, ())
        return of_parts(code, np.zeros_like(code), self.fmt) if self.is_complex else code

    def axis(self, axis: int) -> int:
        """Return the number of an axis of an array of codes. ``axis``: its negative number as an axis of elements, -1
        for the last.
        """
        return axis - self.is_complex


def _row(k: int, arithmetic: Arithmetic) -> tuple[Any, ...]:
    return (..., k, slice(None), slice(None)) if arithmetic.is_complex else (..., k, slice(None))


def transposed(a: Codes, arithmetic: Arithmetic, conjugate: bool = False) -> Codes:
    """Return the transposed matrices; ``conjugate``: with conjugate elements."""
    turned = np.swapaxes(a, arithmetic.axis(-1), arithmetic.axis(-2))
    return arithmetic.conjugate(turned) if conjugate else turned


def solve_triangular(
    a: Codes, b: Codes, arithmetic: Arithmetic, *, left: bool, lower: bool, transpose: str, unit: bool
) -> Codes:
    """Return x with op(a) x = b, or x op(a) = b if not ``left``, by substitution.

    The elements of x are found one after the other. For each, the products of elements of a and of the known elements
    of x are subtracted from b in the order of the latter, and the difference is divided by the element on the diagonal.
    ``transpose``: "NO_TRANSPOSE", "TRANSPOSE" or "ADJOINT".
    """
    if transpose != "NO_TRANSPOSE":
        a, lower = transposed(a, arithmetic, transpose == "ADJOINT"), not lower
    if not left:
        a, b, lower = transposed(a, arithmetic), transposed(b, arithmetic), not lower
    size = b.shape[arithmetic.axis(-2)]
    x = b.copy()
    order = range(size) if lower else range(size - 1, -1, -1)
    for place, i in enumerate(order):
        row = x[_row(i, arithmetic)]
        for j in order[:place]:
            row = arithmetic(
                "subtract", row, arithmetic("multiply", _entry(a, i, j, arithmetic), x[_row(j, arithmetic)])
            )
        if not unit:
            row = arithmetic("divide", row, _entry(a, i, i, arithmetic))
        x[_row(i, arithmetic)] = row
    return x if left else transposed(x, arithmetic)


def _entry(a: Codes, i: int, j: int, arithmetic: Arithmetic) -> Codes:
    """Return one element of each matrix, beside an axis for a row."""
    return a[..., i, j, None, :] if arithmetic.is_complex else a[..., i, j, None]


def cholesky(a: Codes, arithmetic: Arithmetic, lower: bool) -> tuple[Codes, npt.NDArray[np.int32]]:
    """Return the Cholesky factor of each matrix, with zeros in the other triangle, and a number for each: the order of
    the first leading part that is not positive definite, 0 if there is none.

    The factor is found column by column. For each element, the products of the elements that were found are subtracted
    in their order. The element on the diagonal is the root of the real part; the others of the column are divided by
    it. Only one triangle of ``a`` is read: the lower one if ``lower``.
    """
    if not lower:
        a = transposed(a, arithmetic, conjugate=True)
    size = a.shape[arithmetic.axis(-1)]
    factor = np.zeros_like(a)
    failed = np.zeros(a.shape[: a.ndim - 2 - arithmetic.is_complex], np.int32)
    for j in range(size):
        column = _below(a, j, arithmetic)
        for k in range(j):
            product = arithmetic(
                "multiply", _below(factor, k, arithmetic, j), arithmetic.conjugate(_entry(factor, j, k, arithmetic))
            )
            column = arithmetic("subtract", column, product)
        pivot = column[..., :1, :] if arithmetic.is_complex else column[..., :1]
        if arithmetic.is_complex:
            real, imaginary = parts_of(pivot, arithmetic.fmt)
            pivot = of_parts(real, np.zeros_like(imaginary), arithmetic.fmt)
        else:
            real = pivot
        failed = np.where((failed == 0) & ~_positive(arithmetic.fmt, real)[..., 0], np.int32(j + 1), failed)
        root = arithmetic("sqrt", pivot)
        below = arithmetic("divide", column, root)
        if arithmetic.is_complex:
            below[..., :1, :] = root
            factor[..., j:, j, :] = below
        else:
            below[..., :1] = root
            factor[..., j:, j] = below
    if not lower:
        factor = transposed(factor, arithmetic, conjugate=True)
    return factor, failed


def _below(a: Codes, k: int, arithmetic: Arithmetic, first: int | None = None) -> Codes:
    """Return a column of each matrix, from the diagonal on, or from a row on."""
    first = k if first is None else first
    return a[..., first:, k, :] if arithmetic.is_complex else a[..., first:, k]


def _positive(fmt: FloatFormat, codes: Codes) -> npt.NDArray[np.bool_]:
    sign = codes.dtype.type(fmt.sign_mask or 0)
    infinity = codes.dtype.type(fmt.infinity_magnitude if fmt.infinity_code is not None else fmt.max_magnitude)
    positive: npt.NDArray[np.bool_] = ((codes & sign) == 0) & (codes != 0) & (codes <= infinity)
    return positive


def factor_lu(a: Codes, arithmetic: Arithmetic) -> tuple[Codes, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the LU factors of each matrix in one matrix; for each column the row that it was swapped with, counted
    from 1; and the number of the first pivot that is 0, or 0 if none is.

    The factors are found column by column. The element of the largest magnitude comes to the diagonal, the first one if
    several are equal; the magnitude of a complex number is taken as the sum of those of its parts. The elements below
    are divided by it, and the products are subtracted from the columns to the right.
    """
    batch = a.shape[: a.ndim - 2 - arithmetic.is_complex]
    rows, columns = (a.shape[arithmetic.axis(axis)] for axis in (-2, -1))
    steps = min(rows, columns)
    found, pivots, failed = a.copy(), np.zeros((*batch, steps), np.int32), np.zeros(batch, np.int32)
    for place in np.ndindex(batch):
        matrix = found[place]
        for k in range(steps):
            largest = k + int(np.argmax(_magnitudes(matrix[k:, k], arithmetic)))
            pivots[(*place, k)] = largest + 1
            matrix[[k, largest]] = matrix[[largest, k]]
            if not _magnitudes(matrix[k : k + 1, k], arithmetic)[0]:
                failed[place] = failed[place] or k + 1
                continue
            matrix[k + 1 :, k] = arithmetic("divide", matrix[k + 1 :, k], matrix[k : k + 1, k])
            products = arithmetic("multiply", matrix[k + 1 :, k, None], matrix[None, k, k + 1 :])
            matrix[k + 1 :, k + 1 :] = arithmetic("subtract", matrix[k + 1 :, k + 1 :], products)
    return found, pivots, failed


def _magnitudes(codes: Codes, arithmetic: Arithmetic) -> npt.NDArray[Any]:
    """Return numbers in the order of the magnitudes of a row of elements."""
    without_sign: npt.NDArray[Any] = codes & codes.dtype.type(arithmetic.fmt.code_mask >> arithmetic.fmt.signed)
    if not arithmetic.is_complex:
        return without_sign
    floats = np.float32 if arithmetic.fmt.bits == 32 else np.float64
    total: npt.NDArray[Any] = np.ascontiguousarray(without_sign).view(floats).sum(axis=-1)
    return total


# --- reflections ------------------------------------------------------------------------------------------------------
#
# As LAPACK's geqr2 and org2r, which take one column at a time. A reflection is I - tau v v^H, with 1 first in v.


def factor_qr(a: Codes, arithmetic: Arithmetic, real: Arithmetic) -> tuple[Codes, Codes]:
    """Return the QR factors of each matrix in one matrix, and the factor tau of each reflection. ``real``: the
    arithmetic of the parts of complex numbers.

    The upper triangle is R. Below it are the vectors of the reflections, without their first element, which is 1. Each
    column in turn gives a reflection (`_reflection`), and the columns to the right are multiplied by it (`_reflected`).
    """
    batch = a.shape[: a.ndim - 2 - arithmetic.is_complex]
    rows, columns = (a.shape[arithmetic.axis(axis)] for axis in (-2, -1))
    found = a.copy()
    factors = np.zeros((*batch, min(rows, columns), *a.shape[a.ndim - arithmetic.is_complex :]), a.dtype)
    for place in np.ndindex(batch):
        matrix = found[place]
        for k in range(min(rows, columns)):
            diagonal, below, factor = _reflection(matrix[k:, k], arithmetic, real)
            factors[(*place, k)] = factor
            vector = np.concatenate([arithmetic.number(1)[None], below])
            matrix[k:, k + 1 :] = _reflected(matrix[k:, k + 1 :], vector, arithmetic.conjugate(factor), arithmetic)
            matrix[k, k], matrix[k + 1 :, k] = diagonal, below
    return found, factors


def reflections_product(a: Codes, factors: Codes, arithmetic: Arithmetic) -> Codes:
    """Return the product of the reflections that `factor_qr` leaves below the diagonal, in the shape of ``a``.

    The computation begins with the unit matrix and takes the reflections from the last to the first. The columns to the
    right of a reflection's column are multiplied by it. Its own column becomes its vector times -tau, with 1 - tau on
    the diagonal.
    """
    batch = a.shape[: a.ndim - 2 - arithmetic.is_complex]
    count = factors.shape[arithmetic.axis(-1)]
    found = np.zeros_like(a)
    one = arithmetic.number(1)
    for place in np.ndindex(batch):
        matrix = found[place]
        for k in range(count, min(matrix.shape[:2])):
            matrix[k, k] = one
        for k in reversed(range(count)):
            below, factor = a[place][k + 1 :, k], factors[(*place, k)]
            vector = np.concatenate([one[None], below])
            matrix[k:, k + 1 :] = _reflected(matrix[k:, k + 1 :], vector, factor, arithmetic)
            matrix[k + 1 :, k] = arithmetic("multiply", arithmetic("negate", factor)[None], below)
            matrix[k, k] = arithmetic("subtract", one, factor)
    return found


def _reflected(matrix: Codes, vector: Codes, factor: Codes, arithmetic: Arithmetic) -> Codes:
    """Return the product of a reflection and a matrix: from it, factor * vector times the row of the sums of the
    products of conjugate elements of the vector and elements of a column, in their order from 0, is subtracted.
    """
    if not factor.any():
        return matrix
    row = np.zeros_like(matrix[0])
    for element, elements in zip(arithmetic.conjugate(vector), matrix, strict=True):
        row = arithmetic("add", row, arithmetic("multiply", elements, element[None]))
    row = arithmetic("multiply", factor[None], row)
    return arithmetic("subtract", matrix, arithmetic("multiply", vector[:, None], row[None]))


def _reflection(column: Codes, arithmetic: Arithmetic, real: Arithmetic) -> tuple[Codes, Codes, Codes]:
    """Return the reflection that makes zeros below the first element of a column: what the first element becomes, the
    vector without its first 1, and tau. A column that has zeros there gives tau 0, and stays.

    The first element becomes beta: the norm of the column with the other sign than the real part has; tau is
    (beta - first) / beta, for complex numbers conjugate; the others are multiplied by 1 / (first - beta).
    """
    fmt, first, below = arithmetic.fmt, column[0], column[1:]
    magnitude = column.dtype.type(fmt.code_mask >> fmt.signed)
    parts = column.reshape(len(column), -1)
    if not (parts[1:] & magnitude).any() and not (parts[0, 1:] & magnitude).any():
        return first, below, np.zeros_like(first)
    sign = parts[0, 0] & column.dtype.type(fmt.sign_mask or 0)
    norm = _norm(parts.reshape(-1), real)
    beta = norm ^ sign ^ column.dtype.type(fmt.sign_mask or 0)
    if arithmetic.is_complex:
        ratio = real("divide", real("subtract", beta, parts[0, 0]), beta)
        factor = of_parts(ratio, real("divide", real("negate", parts[0, 1]), beta), fmt)
        diagonal = of_parts(beta, np.zeros_like(beta), fmt)
    else:
        diagonal, factor = beta, real("divide", real("subtract", beta, first), beta)
    scale = arithmetic("divide", arithmetic.number(1), arithmetic("subtract", first, diagonal))
    return diagonal, arithmetic("multiply", below, scale[None]), factor


def _norm(numbers: Codes, real: Arithmetic) -> Codes:
    """Return the root of the sum of squares, in order from 0, of numbers divided by the power of two that the largest
    one reaches, times this power, so that no square overflows.
    """
    fmt = real.fmt
    largest = (numbers & numbers.dtype.type(fmt.code_mask >> fmt.signed)).max()
    infinity = fmt.infinity_magnitude if fmt.infinity_code is not None else fmt.max_magnitude
    smallest = numbers.dtype.type(1 << fmt.mantissa_bits)
    power = np.asarray(max(largest & ~(smallest - numbers.dtype.type(1)), smallest))
    if largest >= infinity:
        power = real.number(1)
    total = np.zeros_like(power)
    for number in real("divide", numbers, power[None]):
        total = real("add", total, real("multiply", number, number))
    return real("multiply", real("sqrt", total), power)


# --- Fourier transforms -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _turns(size: int, fmt: FloatFormat) -> Codes:
    """Return the codes of cos(2 pi m / size) and -sin(2 pi m / size) for m below ``size``, each rounded once."""
    return ints_to_codes(
        [code for m in range(size) for code in (_wave(m, size, fmt, "cos"), _wave(-m, size, fmt, "sin"))],
        fmt.bits,
        (size, 2),
    )


def _wave(m: int, size: int, fmt: FloatFormat, name: str) -> int:
    from halfulp.fp_formats.reals import turns

    return turns.wave(name, m, size, fmt)


def transform(x: Codes, axis: int, arithmetic: Arithmetic) -> Codes:
    """Return the sums of x[n] * exp(-2 pi i n k / N) over n along an axis of complex numbers, in order of n from 0."""
    x = np.moveaxis(x, axis, 0)
    size = x.shape[0]
    total = np.zeros_like(x)
    if not size:
        return total
    turns = _turns(size, arithmetic.fmt)
    places = np.arange(size)
    for n in range(size):
        factors = turns[places * n % size].reshape(size, *(1,) * (x.ndim - 2), 2)
        total = arithmetic("add", total, arithmetic("multiply", x[n][None], factors))
    return np.moveaxis(total, 0, axis)


def fourier(x: Codes, kind: str, lengths: tuple[int, ...], arithmetic: Arithmetic, real: Arithmetic) -> Codes:
    """Return a Fourier transform over the last axes.

    ``kind``: FFT, IFFT, RFFT or IRFFT. ``lengths``: those of the axes.

    Each axis is summed by the definition (`transform`), the last axis first. Inverse transforms begin with the first
    axis and use conjugate numbers. They divide by the length of each axis after its sum; IRFFT divides by the product
    of the lengths at the end. ``real``: the arithmetic of the parts of complex numbers.
    """
    rank = len(lengths)

    def inverse(z: Codes, axis: int) -> Codes:
        return arithmetic.conjugate(transform(arithmetic.conjugate(z), axis, arithmetic))

    if kind in ("FFT", "RFFT"):
        if kind == "RFFT":
            x = of_parts(x, np.zeros_like(x), arithmetic.fmt)
        first = x.ndim - 1 - rank
        for axis in range(x.ndim - 2, first - 1, -1):
            x = transform(x, axis, arithmetic)
            if kind == "RFFT" and axis == x.ndim - 2:
                x = x[..., : x.shape[-2] // 2 + 1, :]
        return x
    first = x.ndim - 1 - rank
    if kind == "IFFT":
        for axis in range(first, x.ndim - 1):
            x = real("divide", inverse(x, axis), real.number(x.shape[axis]))
        return x
    for axis in range(first, x.ndim - 2):
        x = inverse(x, axis)
    # The other half has the conjugate numbers, in reverse.
    length, half = lengths[-1], x.shape[-2]
    mirrored = arithmetic.conjugate(x[..., 1 : half - (length % 2 == 0), :][..., ::-1, :])
    x = np.concatenate([x, mirrored], axis=-2)
    found = parts_of(transform(arithmetic.conjugate(x), x.ndim - 2, arithmetic), arithmetic.fmt)[0]
    return real("divide", found, real.number(int(np.prod(lengths))))
