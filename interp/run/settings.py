"""The settings of a run: one dataclass. Each field has its meaning and its choices in its metadata."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.fp_formats.formats import Codes
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Location
from halfulp.interp.ir.dialect_attributes import DialectAttr
from halfulp.interp.ir.errors import (
    ESCAPED,
    InputError,
    LimitExceeded,
    TypeMismatch,
    UndefinedBehavior,
    Unsupported,
    VerifyError,
)
from halfulp.interp.ir.operations import Block, Operation
from halfulp.interp.ir.types import code_layout, shape_problem, width_of
from halfulp.interp.values.buffers import Buffer, to_argument
from halfulp.interp.values.elements import Marks
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel, Origin, PoisonIds
from halfulp.semantics.profile import SPEC, Profile
from halfulp.semantics.random_sources import EXAMPLES, RandomSource, source_of

if TYPE_CHECKING:
    from halfulp.semantics.matrix_units.accumulator import Accumulator

# --- events -----------------------------------------------------------------------------------------------------------
#
# The events of a run: tracing, coverage, comparison and statistics listen to them.
#
# Without a listener nothing is called, and nothing is computed for one.
#
# In a batch, operands and results have one more leading axis than their types, with an entry for each of the lanes that
# run the op together; where all of these have the same value, that axis may be missing. `Listener.lanes` gives the
# lanes. An op runs again for lanes that come to it later. A branch at which lanes part is reported once for each way,
# with the lanes that take it. A call is reported when the last of its lanes has returned.


class Listener:
    """The base class of all listeners. Override the methods of the events that you need. Operands and results are
    `Value`s or buffers.
    """

    def run_will_start(self, function: Operation, arguments: Sequence[Any]) -> None:
        """Called before ``function`` runs, when `halfulp.run` calls it."""

    def op_will_run(self, op: Operation, operands: Sequence[Any]) -> None:
        """Called before ``op`` runs on ``operands``."""

    def op_did_run(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """Called after ``op`` has run. For a call and for an op with regions, ``operands`` is empty."""

    def poison_born(self, op: Operation, origin: Origin, count: int) -> None:
        """Called for new poison: in ``op``, ``count`` elements became poison that were not poison before."""

    def undefined_behavior(self, op: Operation, report: UndefinedBehavior) -> None:
        """Called for undefined behaviour of ``op``. Then the run stops, or continues with ``on_ub="poison"``."""

    def printed(self, op: Operation, text: str, values: Sequence[Any]) -> None:
        """Called when the program prints text. ``values``: the `Value`s in it; a memref is given as a tensor. The op is
        ``vector.print``, or a call of a function of mlir-runner's library.
        """

    def lanes(self, numbers: npt.NDArray[np.intp]) -> None:
        """Called when the lanes change to which the following events belong. ``numbers``: the numbers of these lanes in
        the batch.
        """

    def branch(self, op: Operation, target: Block) -> None:
        """Called for a branch: the terminator ``op`` passes control to ``target``."""


# --- recording --------------------------------------------------------------------------------------------------------
#
# The interface between a run and what it records of its numbers: their lineage, or their shadows.
#
# A recorder gives elements marks, in the place where `Value.open` has its own. All that moves elements moves the marks
# too. `Settings.recorder` names the recorder of a run.

Ran = tuple[Operation, Operation]
"""An op, and the one on whose behalf it ran: itself, or one with a body or with a loop of its own."""
Function = Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]


@dataclass(slots=True, eq=False)
class Operands:
    """The operands of one run of an op on elements."""

    #: The values, whose arrays broadcast to the shape.
    operands: Sequence[Value]
    #: The codes of the operands.
    codes: tuple[Codes, ...]
    #: The shape of the results.
    shape: tuple[int, ...]
    #: The ids of the poison of the results; None if no element is poison.
    poison: PoisonIds | None


@dataclass(slots=True, eq=False)
class OpRun(Operands):
    """One run of an op on elements: its operands, and the results that it made from them, element by element."""

    op: Operation
    #: The op on whose behalf it ran, such as a reduction; else ``op`` itself.
    around: Operation
    kernel: Kernel
    location: Location
    #: The codes of the results.
    results: tuple[Codes, ...]
    #: For the steps of a fold, which lie along the first axis of the shape: the number of the operand that is the
    #: result of the step before. None for any other op.
    accumulator: int | None = None


class Recorder(Protocol):
    """The base class of recorders. A run tells a recorder about its numbers, and asks it for their marks."""

    @property
    def mark_type(self) -> np.dtype[Any]:
        """The dtype of marks. 0 is the mark of a number about which nothing was recorded."""

    def record(self, run: OpRun) -> tuple[Marks | None, ...]:
        """Record the results of an op and its operands, and return the marks of the results."""

    def accumulators(self, kernel: Kernel, terms: Value, codes: Codes) -> Value | None:
        """Return the accumulators that a fold in sequence has before each of its steps, with marks. None if the fold
        must run step by step.

        ``terms``: the start value, then all elements except the last, each with the shape of the lanes. ``codes``:
        those of the accumulators. The result is recorded next, as an operand of all steps at once.
        """

    def argument(self, number: int, given: Any) -> Any:
        """Return an argument with marks for its elements. The memory of a buffer gets them in place."""

    def constant(self, value: Value) -> Value:
        """Return a constant of the program, with marks if constants have any."""

    def computed(self, op: Operation, operands: Sequence[Any], results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the results of an op on whole values. Results that the op computed but did not record are marked as
        unknown.
        """

    def unknown(self, what: str, produced: Any) -> Any:
        """Return a value, or a buffer, with marks that say that nothing is known about it. ``what``: what made it."""


def recording_outside(recorder: Recorder, function: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """Return a function that calls ``function``, which runs ops that no dialect has, and marks its results as numbers
    about which nothing is known.
    """
    return lambda op, *given: [recorder.unknown(op.name, value) for value in function(op, *given)]


def recording_function(op: Operation, recorder: Recorder, function: Function) -> Function:
    """Return a function that calls ``function`` for an op. If it computes something that cannot be recorded, the
    recorder is told.
    """
    return lambda run, operands: recorder.computed(op, operands, function(run, operands))


def unmarked(value: Value) -> Value:
    """Return a value without the marks of a recorder."""
    return Value(value.type, value.bits, value.poison, None, value.origins, value.unsigned)


def clear_marks(arguments: Sequence[Any]) -> None:
    """Remove the marks of a recorder from the memory of buffers."""
    for each in arguments:
        if isinstance(each, Buffer):
            each.allocation.root.open = None


def same_ran(made: dict[tuple[str, Operation], Ran], op: Operation, around: Operation) -> Ran:
    """Return the op that represents ``op`` in all runs of a program. An op outside the program, made for the
    computation of the op ``around``, may be made again in each run; the first one of its name in ``made`` then
    represents it.
    """
    outside = _top(op) is not _top(around)
    return made.setdefault((op.name, around), (op, around)) if outside else (op, around)


def _top(op: Operation) -> Operation:
    while op.parent_op is not None:
        op = op.parent_op
    return op


def holds_floats(value: Value) -> bool:
    """Tell whether the elements of a value are numbers other than integers."""
    return not ty.is_discrete(value.element_type)


def on_floats(op: Operation) -> bool:
    """Tell whether an op has numbers other than integers among its operands or results."""
    return not all(ty.is_discrete(ty.element_type(value.type)) for value in (*op.operands, *op.results))


# --- settings ---------------------------------------------------------------------------------------------------------

External = Callable[..., Any]
"""A Python function that a program calls: `Value`s in, values, arrays or numbers out."""


@dataclass(frozen=True, eq=False)
class SlotConversion:
    """A conversion that works on the contents of slots: ``convert(run, slots)`` returns the slots of the results."""

    convert: Callable[[Any, tuple[Any, ...]], tuple[Any, ...]]


CastTypes = tuple[tuple[str, ...], tuple[str, ...]]
"""The spellings of the operand types and of the result types of a conversion."""
OnUb = Literal["raise", "poison"]
IndexWidth = Literal[64, 32]
Swizzle = Literal["hint", "physical"]
FpFusion = Literal["on", "off"]

AnyValue = TypeVar("AnyValue", Value, Buffer, Value | Buffer)


def about(meaning: str, choices: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Make the ``metadata`` of a field: its meaning, and the values to choose from, if it is a choice."""
    return {"meaning": meaning, "choices": choices}


def _write_to_stdout(text: str) -> None:
    if sys.stdout.isatty():  # elsewhere, the bytes are those that MLIR prints
        text = text.translate(ESCAPED)
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        # A program may print single bytes.
        encoding = sys.stdout.encoding
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


_DIMENSIONS = 3
_MOST_PROGRAMS = (1 << 31) - 1


def _as_grid(given: Any) -> tuple[int, ...] | None:
    """Return the sizes of a grid. Raises ValueError."""
    if given is None:
        return None
    sizes = tuple(given) if isinstance(given, Iterable) else (given,)
    if not 1 <= len(sizes) <= _DIMENSIONS or not all(isinstance(n, int) and 1 <= n <= _MOST_PROGRAMS for n in sizes):
        raise ValueError(f"grid: {given!r} is not a grid; give one to three positive integers, as in grid=(4, 1)")
    return sizes


def _as_model(given: object) -> str:
    """Return a model of tile operations as text. Raise ValueError for anything else."""
    from halfulp.semantics.matrix_units.chips import as_model, model_hint

    try:
        return as_model(given)
    except ValueError as error:
        raise ValueError(with_hint(f"mma: {error}", model_hint(str(given)))) from None


@dataclass(frozen=True)
class Settings:
    """Everything a run depends on besides the module and the arguments.

    ``dataclasses.fields(Settings)`` gives the name, the default, the meaning and the choices of each field. The
    keywords of `halfulp.run` and the options of the command line are made from them.

    Raises ValueError for a value that is not one of a field's choices.
    """

    profile: Profile = field(default=SPEC, metadata=about("the semantics where documents or tools differ"))
    _: KW_ONLY
    on_ub: OnUb = field(
        default="raise",
        metadata=about(
            "the effect of undefined behaviour: 'raise' stops with `UndefinedBehavior`; 'poison' makes the offending "
            "elements poison if arithmetic is undefined, but a branch on poison and an access outside of memory still "
            "stop",
            get_args(OnUb),
        ),
    )
    index_width: IndexWidth = field(default=64, metadata=about("the width of index in bits", get_args(IndexWidth)))
    vscale: int | None = field(default=None, metadata=about("vscale, the factor in the sizes of scalable vectors"))
    track_open: bool = field(
        default=False, metadata=about("keep masks of the elements that the language leaves unspecified")
    )
    recorder: Recorder | None = field(
        default=None,
        metadata=about("what records how numbers are made, or how exact they are; results have marks in `Value.open`"),
    )
    listeners: tuple[Listener, ...] = field(default=(), metadata=about("objects that receive each event of the run"))
    externals: Mapping[str, External] = field(
        default_factory=dict, metadata=about("Python functions for declared functions, by symbol name")
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
            "'chip:NAME' (as the matrix unit of that chip), or an `Accumulator` (also as text, 'custom:bits=25'). A "
            "kernel of Triton with a target is computed by the chip of the target instead of 'exact'"
        ),
    )
    grid: tuple[int, ...] | int | None = field(
        default=None,
        metadata=about(
            "the number of programs of a kernel of Triton along x, y and z: ``(4, 1)``, or an integer; those left out "
            "are 1"
        ),
    )
    fp_fusion: FpFusion = field(
        default="on",
        metadata=about(
            "the option ``enable_fp_fusion`` of Triton's compiler, of which the text of a kernel says nothing: 'on' "
            "fuses products of a kernel with a target into additions, as LLVM does; 'off' rounds them",
            get_args(FpFusion),
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
    max_steps: int = field(default=10_000_000, metadata=about("the largest number of ops that a run may execute"))
    max_depth: int = field(default=1_000, metadata=about("the largest depth of nested calls"))
    max_bytes: int = field(default=1 << 28, metadata=about("the largest size of one value in bytes"))
    write: Callable[[str], object] = field(default=_write_to_stdout, metadata=about("where a program prints"))

    def __post_init__(self) -> None:
        if self.mma != "exact":
            object.__setattr__(self, "mma", _as_model(self.mma))
        object.__setattr__(self, "grid", _as_grid(self.grid))
        try:
            object.__setattr__(self, "random", None if self.random is None else source_of(self.random).text)
        except ValueError as error:
            raise ValueError(f"random: {error}") from None
        if self.track_open and self.recorder is not None:
            raise ValueError(
                "track_open=True cannot be combined with a record of errors or history: leave out one of them"
            )
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

    def check_source(self) -> None:
        """Check the source of random bits. A program that rounds stochastically needs one, and must add in sequence;
        any other program must not have one. Raises InputError.
        """
        profile = self.profile
        if profile.program_rounding == "to_nearest_even":
            if self.random is not None:
                raise InputError(
                    f"random is {self.random}, but the profile {profile.name} does not round stochastically",
                    hint='give profile="spec,program_rounding=stochastic", too',
                )
        elif self.random is None:
            raise InputError(
                f"the profile {profile.name} rounds stochastically, but the run has no random bits",
                hint=f"name their source and its seed: random=… (--random=…), as in {EXAMPLES}",
            )
        elif profile.reduction_order in ("pairwise", "exact"):
            raise InputError(
                f"the profile {profile.name} rounds stochastically, which needs reduction_order=sequential: the random "
                "bits go to the additions in their order"
            )

    @property
    def marks_elements(self) -> bool:
        """True if elements carry marks: each op then runs on elements, one op at a time."""
        return self.track_open or self.recorder is not None

    def width(self, element: ty.Type) -> int:
        """Return the number of bits of an element's value: an index wraps at ``index_width``. Raises Unsupported."""
        if isinstance(element, ty.IndexType):
            return self.index_width
        return width_of(element)

    def accepted(self, value: AnyValue, what: str) -> AnyValue:
        """Return a value from outside as the program sees it: an index is narrowed if indices have 32 bits.

        A buffer is narrowed in place, so that all its users see the change. ``what`` names the value in errors. Raises
        TypeMismatch.
        """
        if self.index_width == 64 or not isinstance(ty.element_type(value.type), ty.IndexType):
            return value
        if isinstance(value, Buffer):
            value.store(self.accepted(value.load(), what))
            return value
        return Value(value.type, narrowed_index(value.bits, what), value.poison, value.open, value.origins)

    def key(self) -> tuple[Any, ...]:
        """Return the settings that compiled code depends on, as a key to compare and hash: all except recorders,
        listeners and externals.
        """
        casts = tuple(sorted((types, id(function)) for types, function in self.casts.items()))
        return (casts, *(getattr(self, name) for name in _KEY))


def _alternatives(choices: tuple[Any, ...]) -> str:
    return " or ".join(map(repr, choices)) if len(choices) < 4 else f"one of {', '.join(choices)}"


_CHOICES = {field.name: field.metadata["choices"] for field in fields(Settings) if field.metadata["choices"]}
_NOT_IN_CODE = ("casts", "recorder", "listeners", "externals")
_KEY = tuple(field.name for field in fields(Settings) if field.name not in _NOT_IN_CODE)


def check_allocation(type_: ty.Type, shape: tuple[int, ...], settings: Settings) -> None:
    """Check that a value is not too large to be held. Raises LimitExceeded with its size and the limit."""
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


# --- function attributes ----------------------------------------------------------------------------------------------
#
# Function attributes that change the settings of a body: ``iree_codegen.denormal_fp_math_f32``.
#
# The attribute flushes subnormals of f32, in operands and in results, as LLVM's function attribute ``denormal-fp-
# math-f32`` does. It holds for all that the ops of the function's own body compute from or to f32, not for the
# functions that it calls. Bits that are only moved (constants, negf, select, bitcast, calls) do not change. Tile
# operations do not follow it either: their hardware has its own rules. With ``none`` the profile of the run holds.
#
# A function may also have it in the configuration of its ``translation_info``, where IREE's own compiler puts it. A
# function with both follows the configuration, as in IREE 3.13.
#
# An llvm.func has such rules for all formats, and for f32 alone: in ``denormal_fpenv``, before LLVM 24 in
# ``denormal_fp_math`` and ``denormal_fp_math_f32``, or in ``passthrough`` under LLVM's own names. LLVM permits to flush
# and does not require it; here everything is flushed that the attribute names.

DENORMAL_F32 = "iree_codegen.denormal_fp_math_f32"
_TRANSLATION = "translation_info"
# The zero that replaces a subnormal of f32, by the attribute's word.
_ZEROS = {"none": None, "preserve-sign": "signed", "positive-zero": "positive"}


def settings_of(function: Operation, settings: Settings) -> Settings:
    """Return the settings for the body of a function; they are unchanged if its attributes do not change them.

    Raises VerifyError for an attribute that is not of the kind that its name requires.
    """
    profile = profile_of(function, settings.profile)
    return settings if profile is settings.profile else replace(settings, profile=profile)


def ruling_attributes(function: Operation) -> dict[str, at.Attribute]:
    """Return the attributes of a function that another function needs, so that the ops have the same results in it."""
    return {name: function.attributes[name] for name in (DENORMAL_F32, _TRANSLATION) if name in function.attributes}


def profile_of(function: Operation, profile: Profile) -> Profile:
    """Return the profile for the body of a function in a run with this profile. Raises VerifyError."""
    if function.name == "llvm.func":
        return _environment(function, profile)
    given = function.attributes
    if not given:
        return profile
    found = _configured(given.get(_TRANSLATION)) or given.get(DENORMAL_F32)
    if found is None:
        return profile
    if not isinstance(found, DialectAttr) or found.definition.name != "iree_codegen.denormal_fp_math":
        raise VerifyError(
            f"{DENORMAL_F32} is {found}, but must be an attribute of the kind #iree_codegen.denormal_fp_math"
            f"<{' | '.join(_ZEROS)}>",
            location=function.location,
            op=function.name,
        )
    zero = _ZEROS[found["value"]]
    if zero is None:
        return profile
    return _with_rules(profile, denormals_f32="flush_both", denormal_zero_f32=zero)


def _configured(translation: at.Attribute | None) -> at.Attribute | None:
    """Return the attribute in the configuration of a translation_info, or None."""
    if not isinstance(translation, DialectAttr) or translation.definition.name != "iree_codegen.translation_info":
        return None
    configuration = translation["configuration"]
    return None if configuration is None else dict(configuration.entries).get(DENORMAL_F32)


@lru_cache(maxsize=64)
def _with_rules(profile: Profile, **rules: str) -> Profile:
    """Return a profile with these rules for subnormals; its name says so."""
    return replace(profile, name="", **rules)


# The modes in the order of their numbers in ``denormal_fpenv``, and the zeros of those that flush.
_MODES = ("ieee", "preserve-sign", "positive-zero", "dynamic")
_SIGNS = {"preserve-sign": "signed", "positive-zero": "positive"}
_MATH = ("denormal_fp_math", "denormal_fp_math_f32")
_F32_RULES = ("denormals_f32", "denormal_zero_f32")
_FLUSHES = {(True, True): "flush_both", (True, False): "flush_results", (False, True): "flush_operands"}


def _environment(function: Operation, profile: Profile) -> Profile:
    """Return the profile for the body of an llvm.func. Raises Unsupported for modes that no profile has."""
    given: dict[str, tuple[str, ...]] = {}
    together = function.properties.get("denormal_fpenv")
    for rule, math, formats in zip(("denormals", "denormals_f32"), _MATH, ("default", "float"), strict=True):
        found = function.properties.get(math) or _passed_through(function, math.replace("_", "-"))
        if isinstance(together, DialectAttr):
            numbers = together[f"{formats}_output_mode"], together[f"{formats}_input_mode"]
            given[rule] = tuple(_MODES[number] if number < len(_MODES) else "invalid" for number in numbers)
        elif isinstance(found, at.StringAttr):
            output, _, input_ = found.value.partition(",")
            given[rule] = (output or "ieee", input_ or output or "ieee")
    changed: dict[str, str] = {}
    for rule, modes in given.items():
        if modes == ("dynamic", "dynamic"):  # the profile of the run says
            continue
        zeros = {_SIGNS[mode] for mode in modes if mode in _SIGNS}
        if not {*modes} <= {"ieee", *_SIGNS} or len(zeros) > 1:
            named = ", ".join(f"'{mode}'" for mode in dict.fromkeys(modes))
            raise Unsupported(
                f"the modes {named} of subnormal results and operands have no profile",
                hint="give ieee, preserve-sign or positive-zero, with the same sign of zero, or dynamic for both",
                location=function.location,
                op=function.name,
            )
        changed[rule] = _FLUSHES.get((modes[0] in _SIGNS, modes[1] in _SIGNS), "ieee")
        if zeros:
            changed[rule.replace("denormals", "denormal_zero")] = zeros.pop()
    if "denormals" in changed:
        f32 = dict.fromkeys(_F32_RULES, "as_others")
        if "denormals_f32" in given:  # f32 keeps the rules of the run, also those that it shares with other formats
            own = {rule: getattr(profile, rule) for rule in _F32_RULES}
            shared = {rule: getattr(profile, rule.removesuffix("_f32")) for rule in _F32_RULES}
            f32 = {rule: shared[rule] if own[rule] == "as_others" else own[rule] for rule in _F32_RULES}
        changed = {"flushed_formats": "all", **f32, **changed}
    return _with_rules(profile, **changed) if changed else profile


def _passed_through(function: Operation, name: str) -> at.Attribute | None:
    """Return the value of a function attribute of LLVM that has no property."""
    listed = function.properties.get("passthrough")
    for pair in listed.elements if isinstance(listed, at.ArrayAttr) else ():
        if isinstance(pair, at.ArrayAttr) and len(pair.elements) == 2 and pair.elements[0] == at.StringAttr(name):
            return pair.elements[1]
    return None


# --- host -------------------------------------------------------------------------------------------------------------
#
# The boundary to Python: the results of a user's functions become values of the declared types.


def host_values(produced: Any, types: Sequence[ty.Type], source: str, settings: Settings) -> tuple[Any, ...]:
    """Return the results of a user's Python function as values, or buffers, of the declared types.

    Arrays are copied, since the function may keep them. ``source`` names the function in errors. Raises TypeMismatch.
    """
    given = () if produced is None and not types else produced if isinstance(produced, tuple) else (produced,)
    if len(given) != len(types):
        raise TypeMismatch(f"{source} returned {len(given)} values; {len(types)} are declared")
    values = []
    for index, (value, type_) in enumerate(zip(given, types, strict=True)):
        what = f"result {index} of {source}"
        argument = to_argument(value, type_, what, settings.vscale, copy=True, max_bytes=settings.max_bytes)
        values.append(settings.accepted(argument, what))
    return tuple(values)


def narrowed_index(codes: Codes, what: str) -> Codes:
    """Reduce index codes of 64 bits to 32, in the same storage. Raises TypeMismatch for a number that does not fit."""
    signed = codes.view(np.int64)
    if signed.size:
        for number in (int(signed.min()), int(signed.max())):
            if not -(1 << 31) <= number < 1 << 32:
                raise TypeMismatch(f"{what}: {number} does not fit the 32 bits selected for index")
    return np.asarray(codes & np.uint64(0xFFFFFFFF))
