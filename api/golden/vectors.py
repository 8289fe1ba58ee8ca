"""Golden vectors as typed rows and columns in memory, and as files: `halfulp.vectors`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from halfulp.conformance.vectors.c_model import Order, c_model, carried_by, write_folder, write_model
from halfulp.conformance.vectors.columns import Chunk, Column, Role, joined, results_of, type_of
from halfulp.conformance.vectors.comparison import poison_of
from halfulp.conformance.vectors.computation import Computation
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.packing import LevelName, Unmarked
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.fp_formats.policy import Flags
from halfulp.golden.recipes import computation_for, keywords, recipe_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.interp.ir.operations import Module
from halfulp.interp.values.value import Value
from halfulp.loading import Source
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.profile import Profile

MOST_HELD = 1 << 24
"""The most rows that are held in memory at once; any number can be written to files, or read one after another."""

_ROWS = 1 << 12
"""The number of rows that `Vectors.__iter__` computes at once."""


@dataclass(frozen=True)
class VectorRow:
    """One vector. ``operands``, ``results``: scalar values of their types; a result is poison if every result is right.

    ``flags``: the exception flags, None without a column of them.
    ``open``: for each result, the bits that may have either value.
    ``random``: the random bits of stochastic rounding, else None.
    """

    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    flags: Flags | None = None
    open: tuple[int, ...] = ()
    random: int | None = None

    @property
    def result(self) -> Value:
        """Return the only result. Raises ValueError if there are several."""
        (found,) = self.results
        return found


class Vectors:
    """A set of golden vectors: the operands of an op or a program, and the exact bits of its results.

    It is made by `halfulp.vectors`. Nothing is computed before it is needed. Iterating gives a `VectorRow` for each
    vector, in constant memory. ``vectors[k]`` is one row, ``vectors["a"]`` a column as one `Value`; these, ``len`` and
    ``columns_as_codes`` compute the whole set and keep it in memory; they raise LimitExceeded for more than 2**24 rows.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    @property
    def computation(self) -> Computation:
        """The op or program that is computed."""
        return self.recipe.computation

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns: name, width in bits, type and role of each."""
        return self.recipe.columns

    @cached_property
    def _chunk(self) -> Chunk:
        if self.recipe.rows.count > MOST_HELD:
            raise LimitExceeded(
                f"{self.recipe.rows.count:,} rows are too many to hold in memory: {MOST_HELD:,} at most",
                hint="iterate over them, write them to files, or give n",
            )
        return joined(self.columns, list(self.recipe.chunks()))

    @property
    def columns_as_codes(self) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """The codes of each column by name: unsigned integers, with a last axis of uint64 limbs above 64 bits."""
        return {column.name: codes for column, codes in zip(self.columns, self._chunk, strict=True)}

    def __len__(self) -> int:
        return len(self._chunk[0])

    def __iter__(self) -> Iterator[VectorRow]:
        for chunk in self.recipe.chunks(size=_ROWS):
            yield from _rows(self.columns, chunk)

    def __getitem__(self, key: int | str) -> Any:
        """Return a row by its number, or a column by its name as one tensor. Raises IndexError and KeyError."""
        if isinstance(key, str):
            names = [column.name for column in self.columns]
            if key not in names:
                raise KeyError(f"there is no column '{key}'; the columns are {', '.join(names)}")
            return _value(self.columns, self._chunk, names.index(key))
        if not -len(self) <= key < len(self):
            raise IndexError(f"there is no row {key} of {len(self):,}")
        k = key % len(self)
        return next(_rows(self.columns, tuple(codes[k : k + 1] for codes in self._chunk)))

    def write(
        self,
        folder: str | os.PathLike[str],
        formats: str | Sequence[str] = "testfloat",
        *,
        name: str | None = None,
        poison: Unmarked = "refuse",
        any_nan: bool = False,
    ) -> Path:
        """Write the vectors and their metadata into a folder, as ``halfulp vectors make --out`` does. Return the
        path of the metadata.

        ``formats``: one or more of testfloat, readmemh, npz, npy, bin, c, sv, coe, csv, jsonl, runs, mlir. All files
        have the same columns: those that each of these formats can hold.
        ``name``: the name of the files; by default it is made from the op, its types and properties.
        ``poison``: refuse, drop or canonical, for rows with poison or open bits in a format without columns for them.
        ``any_nan``: ask checkers to accept any NaN if the result is a NaN. Raises InputError for what the formats
        cannot hold, and for a folder that cannot be written.
        """
        chosen = (formats,) if isinstance(formats, str) else tuple(formats)
        recipe = self.recipe
        if Role.FLAGS not in carried_by(chosen):
            recipe = recipe.without_flags()
        named = recipe.default_name() if name is None else name
        order = Order(recipe, chosen, Options(named), poison, any_nan)
        write_folder(order, Path(folder))
        return Path(folder) / f"{named}.json"

    def write_model(self, folder: str | os.PathLike[str], *, name: str | None = None) -> Path:
        """Write a model of the op in C99, as ``halfulp vectors make --format dpi`` does: NAME.c has the model and a
        self-test on some of these vectors, and NAME_dpi.sv imports the model into SystemVerilog. Return the path of the
        C file.

        Raises Unsupported for an op, a format or a profile without a model, InputError for a program, a wrong name, and
        a folder that cannot be written.
        """
        model = c_model(self.recipe, self.recipe.default_name() if name is None else name)
        write_model(model, Path(folder))
        return Path(folder) / f"{model.name}.c"

    def __repr__(self) -> str:
        names = ", ".join(f"{column.name}: {column.type}" for column in self.columns)
        return f"Vectors({self.recipe.rows.count:,} rows of {names})"


def _value(columns: Sequence[Column], chunk: Chunk, k: int) -> Value:
    """Return a column as a tensor. Results have their poison."""
    type_ = type_of(columns[k])
    assert type_ is not None
    poison = poison_of(columns, chunk, k) if columns[k].role is Role.RESULT else np.zeros(1, np.bool_)
    held = poison.astype(np.uint16) if poison.any() else None
    return Value(ty.TensorType((len(chunk[0]),), type_), chunk[k], held)


def _rows(columns: Sequence[Column], chunk: Chunk) -> Iterator[VectorRow]:
    def of(role: Role) -> list[int]:
        return [k for k, column in enumerate(columns) if column.role is role]

    values = [_value(columns, chunk, k) for k in range(len(columns))]
    operands, results, random, flags = of(Role.OPERAND), of(Role.RESULT), of(Role.RANDOM), of(Role.FLAGS)
    masks = {place: k for k in of(Role.OPEN) for place in results_of(columns, columns[k])}
    ints = {k: codes_to_ints(chunk[k], columns[k].width) for k in (*random, *flags, *masks.values())}
    for row in range(len(chunk[0])):
        yield VectorRow(
            tuple(values[k][row] for k in operands),
            tuple(values[k][row] for k in results),
            Flags(ints[flags[0]][row]) if flags else None,
            tuple(ints[masks[k]][row] if k in masks else 0 for k in results),
            ints[random[0]][row] if random else None,
        )


def vectors(
    of: Source | Module,
    type: Any = None,
    *,
    to: Any = None,
    level: LevelName | None = None,
    models: str | Sequence[str] = (),
    operands: str | Mapping[str, Any] | None = None,
    n: int | None = None,
    seed: int = 0,
    draw: int | None = None,
    rounding: str | None = None,
    random_bits: int | None = None,
    random: str | None = None,
    profile: Profile | str | None = None,
    function: str | None = None,
    flags: bool | None = None,
    keep_ub: bool = False,
    mma: Accumulator | str | None = None,
    grid: tuple[int, ...] | int | None = None,
    arguments: Sequence[str] = (),
    fp_fusion: Literal["on", "off"] | None = None,
    **properties: Any,
) -> Vectors:
    """Make golden vectors of an op or a program: operands, and the exact bits of the results. See `halfulp.check`.

    ``of``: the name of an op as for `eval`, a tile operation as for `explain_dot`, or a program as for `run`.
    ``type``: the element type of the operands: one for all, or a list with one for each.
    ``to``: the element type of the result of a cast.
    ``level``: how operands are chosen: "1" (default) or "2": TestFloat's corner cases; "exhaustive": every operand;
    "random": uniform bits; "weighted": TestFloat's random mixture; "hard": the hardest arguments of an elementary
    function.
    ``models``: coverage models, such as ["B1", "B3"], or "all" for all models that apply to the op. Their rows come
    first; without ``level`` there are no other rows.
    ``operands``: your own operands, instead of a level or models: a text as for ``halfulp vectors make --operands``,
    such as "normal:scale=2", "rows.npz" or "normal@70,corners@20,B1@10"; or a dictionary from the name of each operand
    to its source, which is such a text, an array of the operand's type, or an array of raw bits as unsigned integers.
    ``n``, ``seed``: the number of random rows, and their seed. For levels that are not random, ``n`` is the largest
    number of rows.
    ``draw``: for an op of TOSA, make vectors of a whole operator, whose shapes and attributes are drawn by this number
    and by the seed; ``type`` is the type of its first operand. 1 for ops that are not elementwise.
    ``rounding``: the rounding mode of the op.
    ``random_bits``: the number of random bits of each row for "stochastic" (default: 16); these bits are a column.
    ``random``: for a program that rounds stochastically, the source of its random bits, as for `run`. With Philox, the
    vectors have a column with the number of each row's run.
    ``profile``: as for `run`.
    ``function``: the name of the function of a program; by default the only public one, or @main.
    ``flags``: False for vectors without exception flags, True to require them.
    ``keep_ub``: keep rows with undefined behaviour, with poison as their results. By default they are left out.
    ``mma``: for a tile operation or a program, the model of the additions, as for `run`. A row of a tile operation is a
    whole tile, and the levels are "weighted" (default) and "random".
    ``grid``, ``arguments``: for a kernel of Triton, the number of programs, and for each argument its type as a text:
    "8x128xf32" for the shape of memory and "i32" for a scalar that differ from row to row, or "i32=1000" and "16xi32=0"
    for what is always the same. A row is a launch: the elements of the memory that the kernel reads are operands, and
    those of the memory in which it stores are results. Memory in which it only stores is zero before the launch.
    ``fp_fusion``: for a kernel, as for `run`.
    ``properties``: the other properties of the op, as for `eval`.

    Raises InputError for arguments that cannot be combined, Unsupported for operands that cannot be generated, and the
    errors of `eval` and `load`.
    """
    options = keywords(
        type, to, level=level, models=models, operands=operands, n=n, seed=seed, draw=draw, rounding=rounding,
        profile=profile, random_bits=random_bits, random=random, function=function, flags=flags, keep_ub=keep_ub,
        mma=mma, grid=grid, arguments=tuple(arguments), fp_fusion=fp_fusion,
    )  # fmt: skip
    return Vectors(recipe_of(computation_for(of, options, properties), options))
