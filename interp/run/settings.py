"""The settings of a run: one dataclass, whose fields carry their meaning and their choices."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from math import prod
from typing import Any, Literal, TypeVar, get_args

from halfulp.fp_formats.suggestions import did_you_mean, with_hint
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded
from halfulp.interp.ir.types import width_of
from halfulp.interp.run.events import Listener
from halfulp.interp.run.recording import Recorder
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.element_layout import code_layout, narrowed_index, shape_problem
from halfulp.interp.values.value import Value
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.matrix_units.chips import as_model, model_hint
from halfulp.semantics.profile import SPEC, Profile
from halfulp.semantics.random_sources import RandomSource, source_of

External = Callable[..., Any]
"""A Python function that a program calls: `Value`s in, values, arrays or numbers out."""


@dataclass(frozen=True, eq=False)
class SlotConversion:
    """A conversion that works on what slots hold: ``convert(run, slots)`` returns the slots of the results."""

    convert: Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]


CastTypes = tuple[tuple[str, ...], tuple[str, ...]]
"""The spellings of the operand types and of the result types of a conversion."""
OnUb = Literal["raise", "poison"]
IndexWidth = Literal[64, 32]
Swizzle = Literal["hint", "physical"]

Given = TypeVar("Given", Value, Buffer, Value | Buffer)


def about(meaning: str, choices: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Make the ``metadata`` of a field: its meaning, and the values to choose from where it is a choice."""
    return {"meaning": meaning, "choices": choices}


def _write_to_stdout(text: str) -> None:
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        # A program may print single bytes.
        encoding = sys.stdout.encoding
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


@dataclass(frozen=True)
class Settings:
    """Everything a run depends on besides the module and the arguments.

    ``dataclasses.fields(Settings)`` gives the name, the default, the meaning and the choices of each: the keywords of
    `halfulp.run` and the options of the command line are made of them.

    Raises ValueError for a value that is not one of a field's choices.
    """

    profile: Profile = field(default=SPEC, metadata=about("the semantics where documents or tools differ"))
    _: KW_ONLY
    on_ub: OnUb = field(
        default="raise",
        metadata=about(
            "what undefined behaviour does: 'raise' stops with `UndefinedBehavior`; 'poison' makes the offending "
            "elements poison where arithmetic is undefined; a branch on poison and an access outside of memory stop "
            "all the same",
            get_args(OnUb),
        ),
    )
    index_width: IndexWidth = field(default=64, metadata=about("the bits at which index wraps", get_args(IndexWidth)))
    vscale: int | None = field(default=None, metadata=about("the multiple of scalable vectors"))
    track_open: bool = field(
        default=False, metadata=about("keep masks of the elements that the language leaves unspecified")
    )
    recorder: Recorder | None = field(
        default=None,
        metadata=about("what records how numbers are made, or how exact they are; results have marks in `Value.open`"),
    )
    listeners: tuple[Listener, ...] = field(default=(), metadata=about("what is told of each event of the run"))
    externals: Mapping[str, External] = field(
        default_factory=dict, metadata=about("Python functions for declarations, by symbol name")
    )
    casts: Mapping[CastTypes, External | SlotConversion] = field(
        default_factory=dict,
        metadata=about(
            "Python functions for `builtin.unrealized_conversion_cast`, by the spellings of operand and result types"
        ),
    )
    mma: str | Accumulator = field(
        default="exact",
        metadata=about(
            "how tile operations add up: 'exact' (rounded once), 'ieee' (fused multiply-adds one after the other), "
            "'chip:NAME' (as the matrix unit of that chip), or an `Accumulator` (also as text, 'custom:bits=25')"
        ),
    )
    random: str | None = field(
        default=None,
        metadata=about(
            "where the random bits come from, if the profile rounds stochastically (``program_rounding``): "
            "``philox:seed=1`` or ``lfsr:width=16,taps=16+14+13+11,seed=1``"
        ),
    )
    swizzle: Swizzle = field(
        default="hint",
        metadata=about(
            "'physical' moves the elements in memory that `iree_codegen.swizzle_hint` names; 'hint' ignores it",
            get_args(Swizzle),
        ),
    )
    check_hints: bool = field(
        default=False,
        metadata=about(
            "in a batch, `iree_codegen.index_hint` is undefined where its claim about the lanes does not hold"
        ),
    )
    max_steps: int = field(default=10_000_000, metadata=about("the limit on the ops executed"))
    max_depth: int = field(default=1_000, metadata=about("the limit on nested calls"))
    max_bytes: int = field(default=1 << 28, metadata=about("the limit on the bytes of one value"))
    write: Callable[[str], object] = field(default=_write_to_stdout, metadata=about("where a program prints"))

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "mma", as_model(self.mma))
        except ValueError as error:
            raise ValueError(with_hint(f"mma: {error}", model_hint(str(self.mma)))) from None
        try:
            object.__setattr__(self, "random", None if self.random is None else source_of(self.random).text)
        except ValueError as error:
            raise ValueError(f"random: {error}") from None
        if self.track_open and self.recorder is not None:
            raise ValueError("a run keeps unspecified elements or a record, not both")
        for name, choices in _CHOICES.items():
            given = getattr(self, name)
            if given not in choices:
                near = did_you_mean(str(given), map(str, choices))
                raise ValueError(with_hint(f"{name} is {given!r}, but must be {_alternatives(choices)}", near))

    @property
    def model(self) -> str:
        """The model of tile operations, as text."""
        return str(self.mma)

    @property
    def source(self) -> RandomSource | None:
        """The source of random bits."""
        return None if self.random is None else source_of(self.random)

    @property
    def marks_elements(self) -> bool:
        """True if elements carry marks: each op then runs on elements, one op at a time."""
        return self.track_open or self.recorder is not None

    def width(self, element: ty.Type) -> int:
        """Return the bits of an element's value: an index wraps at ``index_width``. Raises Unsupported."""
        if isinstance(element, ty.IndexType):
            return self.index_width
        return width_of(element)

    def accepted(self, value: Given, what: str) -> Given:
        """Return a value from outside as the program sees it: an index is narrowed where it wraps at 32 bits.

        A buffer is narrowed in place, for all who use it. ``what`` names the value in errors. Raises TypeMismatch.
        """
        if self.index_width == 64 or not isinstance(ty.element_type(value.type), ty.IndexType):
            return value
        if isinstance(value, Buffer):
            value.store(self.accepted(value.load(), what))
            return value
        return Value(value.type, narrowed_index(value.bits, what), value.poison, value.open, value.origins)

    def key(self) -> tuple[Any, ...]:
        """Return what compiled code depends on, to compare and hash: all but recorders, listeners and externals."""
        casts = tuple(sorted((types, id(function)) for types, function in self.casts.items()))
        return (casts, *(getattr(self, name) for name in _KEY))


def _alternatives(choices: tuple[Any, ...]) -> str:
    return " or ".join(map(repr, choices)) if len(choices) < 4 else f"one of {', '.join(choices)}"


_CHOICES = {field.name: field.metadata["choices"] for field in fields(Settings) if field.metadata["choices"]}
_NOT_IN_CODE = ("casts", "recorder", "listeners", "externals")
_KEY = tuple(field.name for field in fields(Settings) if field.name not in _NOT_IN_CODE)


def check_allocation(type_: ty.Type, shape: tuple[int, ...], settings: Settings) -> None:
    """Refuse a value too large to be held. Raises LimitExceeded with both numbers."""
    problem = shape_problem(shape)
    if problem:
        raise LimitExceeded(f"a value of type '{type_}' {problem}")
    dtype, trailing = code_layout(ty.element_type(type_))
    size = prod(shape) * prod(trailing) * dtype.itemsize
    if size > settings.max_bytes:
        raise LimitExceeded(
            f"a value of type '{type_}' takes {size} bytes; the limit is {settings.max_bytes}",
            hint="raise the limit with max_bytes (--max-bytes)",
        )
