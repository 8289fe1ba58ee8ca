"""The computation behind a set of vectors: one op for concrete types, or a whole function of a program.

A `Computation` derives its columns from the declarations of ops before it computes anything, so that every part of a
set has the same columns. Computations can be pickled: processes compute parts of a set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase, reference
from halfulp.conformance.comparing.refinement import Mismatch, Truth, truth_of_op, truth_of_run
from halfulp.conformance.oracles.oracle import Status
from halfulp.conformance.vectors import op_inputs
from halfulp.conformance.vectors.columns import FLAG_BITS, Chunk, Column, Role
from halfulp.conformance.vectors.launches import Launch, Places
from halfulp.conformance.vectors.rows import DrawnBlock, drawn_blocks, exhaustive
from halfulp.fp_formats.formats import Codes, Mask, code_shape, ints_to_codes, storage_dtype
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import SymbolRefAttr
from halfulp.interp.ir.errors import AssertionFailed, HalfulpError, InputError, UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Block, Module, Operation, argument_types, result_types
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.loading import parse_module
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.evaluators import Elementwise, Launched, evaluator_of
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.program import CompiledModule, program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.stochastic import stochastic_kernel
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import FaultKind, Kernel, Open
from halfulp.semantics.profile import SPEC, Profile

TABLE_BITS = 16
"""Most bits of all inputs together for which all results are computed once and then looked up."""

TABLE_ROWS = 1 << 12
"""Least number of rows for which such a table is made."""

MOST_ELEMENTS = 1 << 16
"""Most elements of the arguments and the results of a function together: each is a column."""

ELEMENTS_AT_ONCE = 1 << 20
"""Most elements of the arguments, or of the results, of all rows that a function takes at once."""


class Computed(NamedTuple):
    """The output columns of some rows, and the mask of rows with undefined behaviour (None: none)."""

    outputs: Chunk
    undefined: Mask | None = None


def joined_parts(parts: Sequence[Computed]) -> Computed:
    """Return the output columns of consecutive parts as one."""
    outputs = tuple(np.concatenate(columns) for columns in zip(*(part.outputs for part in parts), strict=True))
    if all(part.undefined is None for part in parts):
        return Computed(outputs)
    sizes = [len(part.outputs[0]) for part in parts]
    masks = [np.zeros(n, np.bool_) if p.undefined is None else p.undefined for p, n in zip(parts, sizes, strict=True)]
    return Computed(outputs, np.concatenate(masks))


class PickledByFields:
    """The base class of dataclasses that are pickled without their cached properties, because kernels cannot be pickled
    and tables are large.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        public = (field.name for field in fields(cast(Any, self)) if not field.name.startswith("_"))
        return type(self), tuple(getattr(self, name) for name in public)


class Computation(Protocol):
    """A computation. ``keep_ub``: rows with undefined behaviour count as poison; otherwise they are left out."""

    @property
    def profile(self) -> Profile:
        """Return the semantics profile."""

    @property
    def keep_ub(self) -> bool:
        """Tell whether rows with undefined behaviour stay."""

    @property
    def operand_types(self) -> tuple[ty.Type, ...]:
        """Return the element type of each operand column."""

    @property
    def inputs(self) -> tuple[Column, ...]:
        """Return the input columns: operands, and the random bits of stochastic rounding last."""

    @property
    def outputs(self) -> tuple[Column, ...]:
        """Return the computed columns."""

    def compute(self, inputs: Chunk) -> Computed:
        """Return the outputs of some rows."""

    def truth(self, inputs: Sequence[int], output: int, expected: int, got: int) -> Truth | None:
        """Return which of two codes of an output of one row is nearer to the exact number, if that is known.

        ``inputs``: the codes of the input columns. ``output``: the number of the column, one of a result.
        """

    def source(self) -> dict[str, Any]:
        """Return the description for the metadata."""


# --- one op -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpComputation(PickledByFields):
    """One op. ``flags``: add a column of exception flags, if the op has flags. ``random_bits``: stochastic rounding
    with that many bits per row, 1 to 64.

    Raises Unsupported for an op without stochastic rounding, ValueError for a wrong number of bits.
    """

    case: OpCase
    profile: Profile = SPEC
    keep_ub: bool = False
    flags: bool = True
    random_bits: int | None = None

    def __post_init__(self) -> None:
        if self.random_bits is not None:
            if not 1 <= self.random_bits <= 64:
                raise ValueError(f"stochastic rounding takes 1 to 64 random bits, not {self.random_bits}")
            _ = self._kernel

    @property
    def operand_types(self) -> tuple[ty.Type, ...]:
        """Return the element types of the operands."""
        return self.case.operand_types

    @cached_property
    def _operation(self) -> Operation:
        return self.case.operation(self._shape(op_inputs.period(self.case)))

    @cached_property
    def _kernel(self) -> Kernel | None:
        """Return the op's kernel, or None for an op without one; for stochastic rounding the kernel of no rows."""
        if self.random_bits is not None:
            return self._stochastic(np.zeros((0,), storage_dtype(self.random_bits)))
        if not isinstance(self.case.evaluator, Elementwise):
            return None
        return self.case.kernel(self._shape(op_inputs.period(self.case)), self.profile)

    def _stochastic(self, random: Codes) -> Kernel:
        assert self.random_bits is not None
        return stochastic_kernel(self._operation, self.profile).given((random, self.random_bits))

    def _shape(self, rows: int) -> tuple[int, ...]:
        return op_inputs.shaped(self.case, np.empty((rows,), np.uint8)).shape

    @cached_property
    def inputs(self) -> tuple[Column, ...]:
        """Return the columns of the operands, named a, b, c, and ``random``."""
        operands = zip("abcdefgh", self.case.operand_widths, self.case.operands, strict=False)
        columns = [Column(name, width, spelling, Role.OPERAND) for name, width, spelling in operands]
        if self.random_bits is not None:
            columns.append(Column("random", self.random_bits, f"i{self.random_bits}", Role.RANDOM))
        return tuple(columns)

    @cached_property
    def outputs(self) -> tuple[Column, ...]:
        """Return the results, and the columns of flags, poison and unspecified bits that the op can have."""
        case, kernel = self.case, self._kernel
        widths = [width_of(type_) for type_ in case.result_types]
        several = len(widths) > 1
        columns = [
            Column(f"result{k}" if several else "result", width, spelling, Role.RESULT)
            for k, (width, spelling) in enumerate(zip(widths, case.results, strict=True))
        ]
        if kernel is None:
            return tuple(columns)
        if self.flags and kernel.flags is not None:
            columns.append(Column("flags", FLAG_BITS, f"i{FLAG_BITS}", Role.FLAGS))
        kinds = {fault.kind for fault in kernel.faults}
        if FaultKind.POISON in kinds or (self.keep_ub and FaultKind.UNDEFINED in kinds):
            columns.append(Column("poison", 1, "i1", Role.POISON))
        if kernel.opens & (Open.SIGN.value | Open.VALUE.value):
            columns.append(Column("open", widths[0], f"i{widths[0]}", Role.OPEN, columns[0].name if several else ""))
        return tuple(columns)

    def compute(self, inputs: Chunk) -> Computed:
        """Return the outputs of some rows; for quantised types along an axis, of whole periods."""
        bits = sum(column.width for column in self.inputs)
        if bits <= TABLE_BITS and len(inputs[0]) >= TABLE_ROWS and op_inputs.period(self.case) == 1:
            return self._looked_up(inputs)
        return self._computed(inputs)

    @cached_property
    def _table(self) -> Computed:
        return self._computed(exhaustive([column.width for column in self.inputs]).part(0, 1 << self._input_bits))

    @property
    def _input_bits(self) -> int:
        return sum(column.width for column in self.inputs)

    def _looked_up(self, inputs: Chunk) -> Computed:
        index = inputs[0].astype(np.intp)
        for column, codes in zip(self.inputs[1:], inputs[1:], strict=True):
            index <<= column.width
            index |= codes
        table = self._table
        undefined = None if table.undefined is None else table.undefined[index]
        return Computed(tuple(np.take(codes, index, axis=0) for codes in table.outputs), undefined)

    def _computed(self, inputs: Chunk) -> Computed:
        if self.random_bits is not None:
            return self._of_kernel(self._stochastic(inputs[-1]), inputs[:-1])
        if not op_inputs.has_blocks(self.case):
            return self._of_case(inputs)
        rows, step = len(inputs[0]), op_inputs.period(self.case)
        return joined_parts(
            [self._of_case(tuple(c[start : start + step] for c in inputs)) for start in range(0, rows, step)]
        )

    def _of_kernel(self, kernel: Kernel, operands: Chunk) -> Computed:
        outcome, flags = kernel.with_flags(*operands) if self._has_flags else (kernel.array(*operands), None)
        faulty = np.zeros(len(operands[0]), np.bool_)
        for _, mask in outcome.faults:
            faulty |= mask
        wanted = any(column.role is Role.OPEN for column in self.outputs)
        opened = kernel.open(operands, outcome.results) if wanted and kernel.open is not None else None
        return self._columns(outcome.results, faulty, None, opened, flags)

    def _of_case(self, operands: Chunk) -> Computed:
        case = self.case
        tensors = tuple(op_inputs.shaped(case, codes) for codes in operands)
        opened = any(column.role is Role.OPEN for column in self.outputs)
        found = reference(case, tensors, self.profile, opened, self._has_flags)

        def flat(mask: Mask | None) -> Mask | None:
            return None if mask is None else op_inputs.flat(case, mask, 1)

        widths = [width_of(type_) for type_ in case.result_types]
        results = tuple(op_inputs.flat(case, bits, width) for bits, width in zip(found.bits, widths, strict=True))
        raised = None if found.flags is None else np.asarray(op_inputs.flat(case, found.flags, 8))
        return self._columns(results, flat(found.poison), flat(found.undefined), flat(found.open), raised)

    @property
    def _has_flags(self) -> bool:
        return any(column.role is Role.FLAGS for column in self.outputs)

    def _columns(
        self,
        results: tuple[Codes, ...],
        poison: Mask | None,
        undefined: Mask | None,
        opened: Any,
        flags: Codes | None,
    ) -> Computed:
        rows, outputs = len(results[0]), list(results)
        for column in self.outputs[len(results) :]:
            made: Codes = np.zeros(code_shape((rows,), column.width), storage_dtype(column.width))
            if column.role is Role.FLAGS:
                assert flags is not None
                made = flags
            elif column.role is Role.POISON:
                for mask in (poison, undefined if self.keep_ub else None):
                    made |= 0 if mask is None else mask.view(np.uint8)
            elif opened is not None:
                made = open_bits(self.case.result_types[0], opened)
            outputs.append(made)
        return Computed(tuple(outputs), undefined)

    def truth(self, inputs: Sequence[int], output: int, expected: int, got: int) -> Truth | None:
        """Return what `Computation.truth` returns; None for quantised types and for stochastic rounding."""
        if self.random_bits is not None or op_inputs.period(self.case) > 1:
            return None
        return truth_of_op(self.case, _mismatch(output, (), tuple(inputs), expected, got), self.profile)

    def source(self) -> dict[str, Any]:
        """Return the op with its types and properties, and the random bits."""
        random = {} if self.random_bits is None else {"random_bits": self.random_bits}
        return {
            "op": self.case.op,
            "operands": list(self.case.operands),
            "results": list(self.case.results),
            "properties": dict(self.case.properties),
            **random,
        }


def open_bits(type_: ty.Type, opened: Any) -> Codes:
    """Return masks of the unspecified bits of a result. ``opened``: its `Open` bits. "Any NaN is right" cannot be
    written as a mask of bits, so the checker handles it separately.
    """
    width = width_of(type_)
    full = ints_to_codes([(1 << width) - 1], width, ())
    signs = type_.format.sign_mask or 0 if isinstance(type_, ty.FloatType) else 0
    sign = ints_to_codes([signs], width, ())
    limbs = (slice(None), np.newaxis) if full.ndim else (slice(None),)
    zero = np.zeros_like(full)
    masks: Codes = np.where((opened & Open.SIGN.value != 0)[limbs], sign, zero)
    return np.where((opened & Open.VALUE.value != 0)[limbs], full, masks)


def _mismatch(result: int, place: tuple[int, ...], operands: tuple[int, ...], expected: int, got: int) -> Mismatch:
    return Mismatch(place, result, operands, expected, got, Status.VALUE, None)


# --- programs ---------------------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """One result of all rows: its codes, which elements are poison, and the `Open` bits of each element."""

    bits: Codes
    poison: Any
    open: Any


def _static_shape(type_: ty.Type) -> tuple[int, ...]:
    return tuple(extent or 0 for extent in ty.shape_of(type_) or ())


@dataclass(frozen=True)
class ProgramComputation(PickledByFields):
    """A function of a program: one column per scalar, or per element of an argument or result of static shape.

    ``text``: the program as MLIR text. ``function``: the function's name. ``name``: the name of the program. ``mma``:
    the model of its tile operations, as text. ``random``: the source of random bits of stochastic rounding, as text;
    with Philox, the number of each row's run is a column. ``operands``: the source of its operands, unless the user
    names another. ``launch``: of a kernel, which has columns for the elements of the memory that it reads, before it
    runs, and for those of the memory in which it stores, afterwards.

    Raises InputError for a missing function, for a kernel without a launch and the reverse, and if only one of random
    bits and stochastic rounding is there, Unsupported for types that cannot be columns, and the errors of the text.
    """

    text: str
    function: str
    name: str = "<program>"
    profile: Profile = SPEC
    keep_ub: bool = False
    mma: str = "exact"
    random: str | None = None
    operands: str | None = None
    launch: Launch | None = None
    _parsed: Module | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._settings.check_source()
        _ = self.inputs, self.outputs

    @cached_property
    def _settings(self) -> Settings:
        settings = Settings(self.profile, track_open=True, mma=self.mma, random=self.random)
        return settings if self.launch is None else self.launch.settings(settings)

    @cached_property
    def module(self) -> Module:
        """Return the program."""
        return self._parsed or parse_module(self.text, self.name)

    @property
    def body(self) -> Block:
        """Return the first block of the function."""
        return self.target.regions[0].blocks[0]

    @cached_property
    def target(self) -> Operation:
        """Return the function."""
        found = self.module.lookup(f"@{self.function}")
        kernel = found is not None and isinstance(evaluator_of(found), Launched)
        if found is None or not (kernel or found.name == "func.func"):
            raise InputError(f"{self.name}: there is no function '{self.function}'")
        if kernel and self.launch is None:
            raise InputError(
                f"'@{self.function}' is a kernel: its vectors need the grid and the shape of its memory",
                location=found.location,
                hint="give --grid=4 and an --input=1024xf32 or --input=i32=1000 for each argument (grid=4, "
                'arguments=["1024xf32", "i32=1000"])',
            )
        if self.launch is not None and not kernel:
            raise InputError(
                f"'@{self.function}' is not a kernel, so it has no grid", location=found.location, hint="leave it out"
            )
        if not found.regions[0].blocks:
            raise Unsupported(f"'@{self.function}' is a declaration without a body", location=found.location)
        return found

    @cached_property
    def _program(self) -> CompiledModule:
        return program_for(self.module, self._settings)

    @cached_property
    def scalars(self) -> bool:
        """Tell whether all arguments and results are scalars."""
        return not any(isinstance(type_, ty.ShapedType) for type_ in (*self._argument_types, *self._result_types))

    @cached_property
    def _places(self) -> Places | None:
        """Return what the arguments of a kernel are; None for a function."""
        return None if self.launch is None else self.launch.places(self.target)

    @cached_property
    def _argument_types(self) -> tuple[ty.Type, ...]:
        return tuple(argument_types(self.target)) if self._places is None else self._places.operand_types

    @cached_property
    def _result_types(self) -> tuple[ty.Type, ...]:
        return tuple(result_types(self.target)) if self._places is None else self._places.result_types

    @cached_property
    def operand_types(self) -> tuple[ty.Type, ...]:
        """Return the element type of each operand column."""
        return tuple(
            ty.element_type(type_) for type_ in self._argument_types for _ in range(self._size(type_, "argument"))
        )

    def _size(self, type_: ty.Type, what: str) -> int:
        """Return the number of columns of an argument or result."""
        element = ty.element_type(type_)
        shape: tuple[int | None, ...] | None = ()
        if isinstance(type_, ty.TensorType | ty.VectorType):
            shape = type_.shape
        wrong = shape is None or None in shape or element_width(element) is None or isinstance(type_, ty.MemRefType)
        if wrong or (isinstance(type_, ty.VectorType) and any(type_.scalable)):
            raise Unsupported(
                f"'@{self.function}' has {'an' if what == 'argument' else 'a'} {what} of type '{type_}', which cannot "
                "be columns",
                location=self.target.location,
                hint="vectors are made for scalars, and for tensors and vectors of static shape",
            )
        size = prod(extent or 0 for extent in shape or ())
        if size > MOST_ELEMENTS:
            raise Unsupported(f"'{type_}' has {size} elements, but at most {MOST_ELEMENTS} can be columns")
        return size

    def _named(self, types: Sequence[ty.Type], what: str, short: str, role: Role) -> list[Column]:
        columns = []
        numbers: Sequence[int] = range(len(types))
        if self._places is not None:
            numbers = self._places.stored if role is Role.RESULT else self._places.drawn
        for number, type_ in zip(numbers, types, strict=True):
            element = ty.element_type(type_)
            shape = tuple(size or 0 for size in type_.shape or ()) if isinstance(type_, ty.ShapedType) else ()
            alone = len(types) == 1 and role is Role.RESULT and self._places is None
            base = short if alone else f"{short}{number}"
            self._size(type_, what)
            for index in np.ndindex(shape):
                name = "_".join([base, *map(str, index)])
                columns.append(Column(name, width_of(element), str(element), role))
        if len(columns) > MOST_ELEMENTS:
            raise Unsupported(f"{len(columns)} elements of {what}s are too many: at most {MOST_ELEMENTS}")
        return columns

    @cached_property
    def inputs(self) -> tuple[Column, ...]:
        """Return the arguments: arg0, arg1, or arg0_1_2 for an element. The number of the run, where it counts, is
        last.
        """
        columns = tuple(self._named(self._argument_types, "argument", "arg", Role.OPERAND))
        if not columns:
            raise Unsupported(
                f"'@{self.function}' has no arguments, so there are no vectors of it",
                location=self.target.location,
            )
        source = self._settings.source
        numbered = source is not None and source.by_op
        return (*columns, Column("random", 32, "i32", Role.RANDOM)) if numbered else columns

    def _runs(self, inputs: Chunk) -> Codes | None:
        """Return the number of each row's run; None if it does not count."""
        return inputs[-1] if self.inputs[-1].role is Role.RANDOM else None

    @cached_property
    def outputs(self) -> tuple[Column, ...]:
        """Return the results, each with a poison column, and with a column of unspecified bits if an op of the program
        has such bits.
        """
        results = self._named(self._result_types, "result", "result", Role.RESULT)
        if not results:
            raise Unsupported(f"'@{self.function}' has no results", location=self.target.location)

        def about(prefix: str, column: Column) -> tuple[str, str]:
            return (prefix, "") if len(results) == 1 else (f"{prefix}_{column.name}", column.name)

        columns = list(results)
        for column in results:
            name, of = about("poison", column)
            columns.append(Column(name, 1, "i1", Role.POISON, of))
        if self._may_be_open:
            for column in results:
                name, of = about("open", column)
                columns.append(Column(name, column.width, f"i{column.width}", Role.OPEN, of))
        return tuple(columns)

    @cached_property
    def _may_be_open(self) -> bool:
        """Tell whether an op that the function can reach may leave more of its result unspecified than the bits of a
        NaN.
        """
        if self.launch is not None:
            return True  # a target may leave open what the op does not
        settings = Settings(self.profile)
        for op in self._within_reach():
            definition = default_registry().find(op.name)
            if definition is not None and isinstance(definition.evaluate, Elementwise):
                kernel = definition.evaluate.build(op, settings)
                if kernel.opens & (Open.SIGN.value | Open.VALUE.value):
                    return True
        return False

    @cached_property
    def blocks(self) -> tuple[DrawnBlock, ...]:
        """Return the columns of blocks: elements of arguments that halfulp.quantize_blocks gives one scale."""
        return drawn_blocks(self.target)

    @cached_property
    def tiled(self) -> bool:
        """Tell whether the function can reach a tile operation."""
        return any(op.name == "iree_codegen.inner_tiled" for op in self._within_reach())

    def ops(self) -> Iterator[Operation]:
        """Yield the ops of the function, without those of functions that it calls."""
        return (op for op in self.target.walk() if op is not self.target)

    def _within_reach(self) -> Iterator[Operation]:
        """Yield the ops of the function, and those of all functions that it refers to, directly or not."""
        functions = [self.target]
        for function in functions:
            for op in function.walk():
                yield op
                for attribute in (*op.properties.values(), *op.attributes.values()):
                    found = self.module.lookup(attribute, op) if isinstance(attribute, SymbolRefAttr) else None
                    if found is not None and all(found is not known for known in functions):
                        functions.append(found)

    def compute(self, inputs: Chunk) -> Computed:
        """Return the outputs of some rows. Many rows are computed at once; if rows cannot be lanes of a batch, they are
        computed one by one.
        """
        rows = len(inputs[0])
        step = max(ELEMENTS_AT_ONCE // max(len(self.inputs), len(self.outputs)), 1)
        if self.scalars or rows <= step:
            return self._in_lanes(inputs)
        parts = [self._in_lanes(tuple(c[start : start + step] for c in inputs)) for start in range(0, rows, step)]
        return joined_parts(parts)

    def _in_lanes(self, inputs: Chunk) -> Computed:
        rows = len(inputs[0])
        if self.launch is not None:
            return self._one_by_one(inputs)
        values, runs = self._given(inputs), self._runs(inputs)
        active = np.ones(rows, np.bool_)
        # Each time some lanes reach undefined behaviour, the others start again without them.
        while active.any():
            try:
                chosen = None if active.all() else active
                results = run_batch(self._program, self.target, values, rows, chosen, runs)
                break
            except (UndefinedBehavior, AssertionFailed) as error:
                if error.lanes is None:
                    active[:] = False
                else:
                    active[error.lanes] = False
            except HalfulpError:
                # Lanes cannot hold tensors of different shapes, and together they take more memory and more steps.
                if self.scalars:
                    raise
                return self._one_by_one(inputs)
        found = self._blank(rows)
        if active.any():
            found = [
                _Rows(value.bits, value.poisoned, np.uint8(0) if value.open is None else value.open)
                for value in results
            ]
        return self._columns(found, active)

    def _blank(self, rows: int) -> list[_Rows]:
        """Return results of some rows, all zeros."""
        made = []
        for type_ in self._result_types:
            shape, width = (rows, *_static_shape(type_)), width_of(ty.element_type(type_))
            bits = np.zeros(code_shape(shape, width), storage_dtype(width))
            made.append(_Rows(bits, np.zeros(shape, np.bool_), np.zeros(shape, np.uint8)))
        return made

    def _columns(self, found: Sequence[_Rows], active: Mask) -> Computed:
        """Return results as columns. ``active``: the rows without undefined behaviour."""
        rows = len(active)
        columns: list[Codes] = []
        poison: list[Codes] = []
        opened: list[Codes] = []
        for result, type_ in zip(found, self._result_types, strict=True):
            size, width = self._size(type_, "result"), width_of(ty.element_type(type_))

            def of_elements(array: Any, inner: tuple[int, ...] = (), of: ty.Type = type_, size: int = size) -> Any:
                whole = np.broadcast_to(array, (rows, *_static_shape(of), *inner)).reshape(rows, size, *inner)
                return [whole[:, place] for place in range(size)]

            for bits in of_elements(result.bits, code_shape((), width)):
                columns.append(np.where(_rowwise(active, bits), bits, np.zeros_like(bits)))
            for mask in of_elements(result.poison):
                poison.append((mask & active | (~active if self.keep_ub else False)).view(np.uint8))
            if self._may_be_open:
                for marks in of_elements(result.open):
                    opened.append(open_bits(ty.element_type(type_), np.where(active, marks, np.uint8(0))))
        return Computed((*columns, *poison, *opened), None if active.all() else ~active)

    def _given(self, inputs: Chunk) -> list[Value]:
        """Return the arguments, with a leading axis over the rows."""
        values, position = [], 0
        for type_ in self._argument_types:
            size, shape = self._size(type_, "argument"), _static_shape(type_)
            width = width_of(ty.element_type(type_))
            bits = np.empty(code_shape((len(inputs[0]), size), width), storage_dtype(width))
            for place in range(size):
                bits[:, place] = inputs[position + place]
            values.append(Value(type_, bits.reshape(len(inputs[0]), *shape, *bits.shape[2:])))
            position += size
        return values

    def _one_by_one(self, inputs: Chunk) -> Computed:
        rows, runs = len(inputs[0]), self._runs(inputs)
        found, active = self._blank(rows), np.zeros(rows, np.bool_)
        failure: HalfulpError | None = None
        for row in range(rows):
            number = 0 if runs is None else int(runs[row])
            try:
                values = self._results(self.arguments(inputs, row), number)
            except (UndefinedBehavior, AssertionFailed) as error:
                failure = error
                continue
            active[row] = True
            for result, value in zip(found, values, strict=True):
                result.bits[row], result.poison[row] = value.bits, value.poisoned
                result.open[row] = 0 if value.open is None else value.open
        if self.launch is not None and failure is not None and not active.any():
            raise failure  # the shapes or the grid are wrong, not single operands
        return self._columns(found, active)

    def _results(self, arguments: Sequence[Value], number: int) -> Sequence[Value]:
        """Run the function for the arguments of one row."""
        if self._places is None:
            return self._program.run(self.target, arguments, number=number)
        memory = self._places.given(arguments)
        self._program.run(self.target, memory)
        return [memory[place].load() for place in self._places.stored]

    def arguments(self, inputs: Chunk, row: int) -> list[Value]:
        """Return the arguments of one row."""
        alone = self._given(tuple(codes[row : row + 1] for codes in inputs))
        return [Value(value.type, value.bits[0]) for value in alone]

    def truth(self, inputs: Sequence[int], output: int, expected: int, got: int) -> Truth | None:
        """See `Computation.truth`. None for a kernel."""
        if self.launch is not None:
            return None
        columns = tuple(
            ints_to_codes([code], column.width, (1,)) for code, column in zip(inputs, self.inputs, strict=True)
        )
        lineage = Lineage()
        try:
            settings = replace(self._settings, track_open=False, recorder=lineage)
            runs = self._runs(columns)
            given, number = self.arguments(columns, 0), 0 if runs is None else int(runs[0])
            values = program_for(self.module, settings).run(self.target, given, number=number)
        except HalfulpError:
            return None
        for result, value in enumerate(values):
            if output < value.size:
                place = tuple(int(k) for k in np.unravel_index(output, value.shape))
                return truth_of_run(lineage, values, _mismatch(result, place, (), expected, got))
            output -= value.size
        raise ValueError("the column belongs to no result")

    def source(self) -> dict[str, Any]:
        """Return the program with its digest, the function, the model of tile operations unless it is the default, the
        source of random bits, and the launch of a kernel.
        """
        return {
            "program": self.name,
            "program_sha256": hashlib.sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest(),
            "program_text": self.text,
            "function": self.function,
            **({} if self.mma == "exact" else {"mma": self.mma}),
            **({} if self.random is None else {"random": self.random}),
            **({} if self.launch is None else {"launch": self.launch.to_json(self.target)}),
        }


def _rowwise(mask: Mask, codes: Codes) -> Mask:
    return mask.reshape(mask.shape + (1,) * (codes.ndim - 1))
