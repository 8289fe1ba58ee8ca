"""The results of a JAX function and those of halfulp, compared: `compare`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from html import escape
from importlib import import_module
from math import isfinite, isinf, isnan, nan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import neighbours
from halfulp.fp_formats.spelling import fragment, table, table_lines, title
from halfulp.importing.lowering import Lower, is_torch, traced, without_tensors, wrong_factor
from halfulp.importing.torch_programs import Exported, Written, as_torch, exported, is_exported, named_leaves, unchanged
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError, TypeMismatch, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.ir.types import numeric
from halfulp.interp.run.shadows import Shadows, shadow_of
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.coerce import as_array, is_tensor
from halfulp.interp.values.spelling import spell_element
from halfulp.interp.values.value import Value
from halfulp.measuring.metrics import MEASURES, Metric, checked_metric
from halfulp.running import CallKeywords, RunOptions, find_entry, given_arguments, run_options, run_with, takes
from halfulp.semantics import floats
from halfulp.semantics.judging import as_f64, has_shadows

if TYPE_CHECKING:
    from halfulp.conformance.comparing.tosa_bounds import TosaVerdict

_HEAD = (
    *("output", "type", "elements", "different", "max ulp", "mean ulp", "SQNR", "relative", "NaN in one", "poison"),
    *("nearer", "farthest"),
)
_CLOSE = 2.0**-20
"""The radius, relative to an exact number or to its error, up to which that number counts as known."""
Exact = Callable[[], neighbours.FloatSums | None]
"""Gives the exact numbers of an output; None if there are none."""


@dataclass(frozen=True, repr=False)
class OutputDistance:
    """One output of a function: the results ``ours`` and ``jax``, both a `Value`, and their distance. ``against``: the
    library that computed ``jax``: JAX or torch. ``own``: what computed ``ours``.

    ``name``: the place of the output in the result, such as ``['loss']``; empty for the only one.
    ``metric``: "ulp", or the metric by which ``farthest`` is chosen: "sqnr", "relative" and "absolute" choose the
    largest difference.
    """

    name: str
    ours: Value
    jax: Value
    against: str = "JAX"
    metric: str = "ulp"
    _exact: Exact = field(default=lambda: None, compare=False)
    own: str = "halfulp"

    @cached_property
    def ulp(self) -> npt.NDArray[np.float64]:
        """The distance of each element: the steps from one code to the other along the values of the type; for
        integers, the difference. Two NaNs have distance 0. The distance of an element is NaN if it is poison, or if it
        is a NaN in only one of the results.
        """
        stored = numeric(self.ours.element_type)
        ours, jax = self.ours.bits, self.jax.bits
        if isinstance(stored, ty.FloatType):
            steps = neighbours.steps_between(stored.format, ours.reshape(-1), jax.reshape(-1)).reshape(ours.shape)
            steps[floats.is_nan(stored.format, ours) & floats.is_nan(stored.format, jax)] = 0
        else:
            steps = neighbours.integer_steps_between(ty.width_of(stored), ours, jax)
        steps[np.asarray(self.ours.poisoned)] = np.nan
        return steps

    @property
    def different(self) -> int:
        """The number of elements that differ: in value, in the sign of a zero, or as poison. NaNs do not differ."""
        return int(np.count_nonzero(self._differs))

    @property
    def max_ulp(self) -> float:
        """The largest distance of elements that are measured."""
        return self._summary.largest if self._summary.count else 0.0

    @property
    def mean_ulp(self) -> float:
        """The mean distance of elements that are measured."""
        return self._summary.mean if self._summary.count else 0.0

    @property
    def nan_in_one(self) -> int:
        """The number of elements that are NaN in one of the results."""
        return int(np.count_nonzero(np.isnan(self.ulp))) - self.poison

    @property
    def poison(self) -> int:
        """The number of our elements that are poison."""
        return int(np.count_nonzero(self.ours.poisoned))

    @property
    def compared(self) -> int:
        """The number of elements that are compared: poison is not."""
        return int(self.ulp.size) - self.poison

    @property
    def farthest(self) -> tuple[int, ...] | None:
        """The index of the element with the largest distance. An element that is NaN in one result comes first; None if
        there is no difference.
        """
        if not self.different:
            return None
        sizes = self.ulp if self.metric == "ulp" or self._numbers is None else self._apart
        return neighbours.place_of_largest(np.where(self._differs, np.nan_to_num(sizes, nan=np.inf), -1.0))

    @property
    def sqnr(self) -> float:
        """The ratio of the sum of the squares of our numbers to the sum of the squares of the differences, in dB. It is
        infinite without a difference, and NaN if the type has numbers that f64 cannot represent, or if no element is
        compared.
        """
        if self._numbers is None or not self.compared:
            return nan
        return neighbours.sqnr_of(_finite(self._numbers[0]), self._apart)

    @property
    def relative(self) -> float:
        """The largest difference relative to the largest finite number of both results; NaN as for ``sqnr``."""
        if self._numbers is None or not self.compared:
            return nan
        unit = MEASURES["relative"].unit(np.stack(self._numbers), self.ulp)
        return float((self._apart / unit).max())

    @cached_property
    def to_exact(self) -> tuple[float, float] | None:
        """The SQNR of our result and of the other one against the exact numbers, in dB, over the elements whose exact
        numbers are known; None if none is. The exact numbers come from another run of the program, which also computes
        with exact reals.
        """
        exact = self._exact()
        if exact is None or self._numbers is None or not (known := np.isfinite(exact.high)).any():
            return None
        numbers = (exact.high + exact.low)[known]
        ours, jax = (neighbours.sqnr_of(numbers, exact.errors(each)[known]) for each in self._numbers)
        return ours, jax

    def nearer(self) -> str:
        """Return a text that says which result is nearer to the exact one, with the SQNR of both."""
        if self.to_exact is None:
            return "not known"
        (ours, jax), measure = self.to_exact, MEASURES["sqnr"]
        if ours == jax:
            return "both exact" if isinf(ours) else f"equal ({measure.spell(ours)})"
        better, worse = measure.spell(max(ours, jax)), measure.short(min(ours, jax))
        return f"{self.own if ours > jax else self.against} ({better} to {worse})"

    @cached_property
    def _numbers(self) -> tuple[neighbours.Floats, neighbours.Floats] | None:
        stored = numeric(self.ours.element_type)
        if not isinstance(stored, ty.FloatType) or not has_shadows(stored.format):
            return None
        ours, jax = (np.asarray(as_f64(stored.format, value.bits), np.float64) for value in (self.ours, self.jax))
        return np.where(np.asarray(self.ours.poisoned), nan, ours), jax

    @cached_property
    def _apart(self) -> neighbours.Floats:
        """The size of each difference: infinite if only one is a number."""
        assert self._numbers is not None
        ours, jax = self._numbers
        with np.errstate(invalid="ignore"):
            apart = np.abs(ours - jax)
        return np.where((ours == jax) | (np.isnan(ours) & np.isnan(jax)), 0.0, np.nan_to_num(apart, nan=np.inf))

    @cached_property
    def _differs(self) -> npt.NDArray[np.bool_]:
        # Two zeros are 0 ulp apart.
        both_nan = (self.ulp == 0) & self._is_nan
        return np.asarray((self.ours.bits != self.jax.bits) & ~both_nan | np.asarray(self.ours.poisoned))

    @property
    def _is_nan(self) -> npt.NDArray[np.bool_]:
        stored = numeric(self.ours.element_type)
        if isinstance(stored, ty.FloatType):
            return np.asarray(floats.is_nan(stored.format, self.ours.bits))
        return np.zeros(self.ours.bits.shape, np.bool_)

    @cached_property
    def _summary(self) -> neighbours.Summary[int]:
        found: neighbours.Summary[int] = neighbours.Summary()
        found.add(self.ulp[~np.isnan(self.ulp)])
        return found

    def farthest_text(self) -> str:
        """Return a text about the element with the largest distance; ``none`` without a difference."""
        at = self.farthest
        if at is None:
            return "none"
        element = self.ours.element_type
        ours, jax = (spell_element(element, int(value.bits[at])) for value in (self.ours, self.jax))
        return f"{list(at) if at else ''} {'poison' if self.ours.poisoned[at] else ours}, {self.against} {jax}".strip()

    def poison_text(self) -> str | None:
        """Return the origin of the poison of the first poison element as text; None if there is no poison."""
        if not self.poison:
            return None
        index = tuple(map(int, np.argwhere(self.ours.poisoned)[0]))
        return f"{self.name or 'result'} {list(index) if index else ''} is poison: {self.ours.origin(*index)}"

    def row(self) -> tuple[str, ...]:
        """Return the figures as texts; the distances are ``none`` if no element was measured."""
        measured = bool(self._summary.count)
        distances = (f"{self.max_ulp:.6g}", f"{self.mean_ulp:.3g}") if measured else ("none", "none")
        figures = (f"{self.different:,}", *distances)
        counts = (f"{self.nan_in_one:,}", f"{self.poison:,}")
        sizes = ((self.sqnr, MEASURES["sqnr"].spell), (self.relative, MEASURES["relative"].short))
        return (
            self.name or "result",
            str(self.ours.type),
            f"{self.ulp.size:,}",
            *figures,
            *("" if isnan(size) else spell(size) for size, spell in sizes),
            *counts,
            self.nearer(),
            self.farthest_text(),
        )


@dataclass(frozen=True)
class JudgedOp:
    """An op of a program of torch, judged by the bounds of TOSA on the operands that torch gave it.

    ``name``: that of its node, such as ``relu``. ``op``: the op of torch. ``verdicts``: one for each result; empty if
    ``why`` says why there are no bounds, for example because it becomes several operators of TOSA.
    """

    name: str
    op: str
    verdicts: tuple[TosaVerdict, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        if not self.verdicts:
            return f"{self.name} ({self.op}): no bounds: {self.why}"
        return "; ".join(f"{self.name} ({self.op}): {_told(verdict)}" for verdict in self.verdicts)


def _told(verdict: TosaVerdict) -> str:
    """Return what a verdict says."""
    by = f"the bounds of TOSA for '{verdict.op}' (rule {verdict.rule})"
    if verdict.ok:
        return f"within {by}"
    return f"beyond {by}: {verdict.whole or f'{int(verdict.wrong.sum()):,} of {verdict.wrong.size:,} elements'}"


@dataclass(frozen=True, repr=False)
class Comparison:
    """The results of a function in JAX and in halfulp.

    ``outputs``: an `OutputDistance` for each output.
    ``module``: the module that halfulp ran.
    ``name``: the name of the function.
    ``verdicts``: with the bounds of TOSA, the verdict on each output of the other library; else empty.
    ``ops``: if the program is several operators of TOSA, a `JudgedOp` for each op of torch, in place of ``verdicts``.
    """

    name: str
    module: Module
    outputs: tuple[OutputDistance, ...]
    verdicts: tuple[TosaVerdict, ...] = ()
    ops: tuple[JudgedOp, ...] = ()

    @property
    def different(self) -> int:
        """The number of elements that differ."""
        return sum(output.different for output in self.outputs)

    @property
    def max_ulp(self) -> float:
        """The largest distance of all outputs."""
        return max((output.max_ulp for output in self.outputs), default=0.0)

    @property
    def _title(self) -> str:
        return f"{self.name}: halfulp beside {self.outputs[0].against if self.outputs else 'JAX'}"

    @property
    def _notes(self) -> list[str]:
        """Say if no element was compared, what the bounds of TOSA say, and name the origins of poison."""
        nothing = ["nothing was compared"] * (not any(output.compared for output in self.outputs))
        judged = [
            f"{output.against} is {_told(verdict)}"
            for output, verdict in zip(self.outputs, self.verdicts, strict=bool(self.verdicts))
        ]
        judged += [f"{self.outputs[0].against}: {op}" for op in self.ops]
        return [*nothing, *judged, *(text for output in self.outputs if (text := output.poison_text()))]

    def __repr__(self) -> str:
        lines = table_lines([_HEAD, *(output.row() for output in self.outputs)])
        return "\n".join([self._title, *lines, *self._notes])

    def _repr_html_(self) -> str:
        rows = table([tuple(map(escape, out.row())) for out in self.outputs], _HEAD)
        return fragment(title(self._title), rows, *(f"<p>{escape(text)}</p>" for text in self._notes))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        names = (
            *("name", "different", "max_ulp", "mean_ulp", "sqnr", "relative", "to_exact", "nan_in_one", "poison"),
            "farthest",
        )
        return {
            "function": self.name,
            "outputs": [
                {"type": str(out.ours.type), **{name: _plain(getattr(out, name)) for name in names}}
                for out in self.outputs
            ],
        }


@takes(CallKeywords)
def compare(
    f: Callable[..., Any],
    /,
    *args: Any,
    metric: Metric = "ulp",
    lower: Lower = "stablehlo",
    bounds: Literal["tosa"] | None = None,
    **options: Unpack[CallKeywords],
) -> Comparison:
    """Run a function in JAX, or a module in torch, and in halfulp, and measure the distances of the results.

    ``f``, ``args``: as `from_jax` takes them; ``args`` are arrays. JAX compiles and runs the same lowering that halfulp
    runs. Or a `torch.nn.Module` with the arguments of `from_torch`, which torch runs op by op.
    ``metric``: how the farthest element is chosen: by the distance in ulp ("ulp"), or by the difference ("sqnr",
    "relative", "absolute"). In ulp, numbers near 0 are far apart.
    ``lower``: the program of JAX that halfulp runs, as for `from_jax`: "stablehlo" or "iree".
    ``bounds``: "tosa" lowers a module of torch to TOSA, and judges the results of torch by the bounds that TOSA's
    specification allows, as `tosa_verdict` does. If the module becomes several operators, each op of torch is judged
    alone, on the operands that torch gave it.

    {options}

    The result has ``outputs``, and for each of them ``ours``, ``jax``, ``ulp`` (one distance for each element),
    ``different``, ``max_ulp``, ``mean_ulp``, ``sqnr`` in dB, ``relative``, and ``farthest``. A distance is not an
    error, since neither result is the exact one. ``to_exact`` and the column "nearer" say how near both results are to
    those of exact real arithmetic. They are computed by another run when they are read. They are not known if the
    lowering is wrong. XLA fuses ops, contracts a product and a sum, keeps sums of bf16 in f32, adds in another order,
    has its own elementary functions, and flushes subnormal numbers; halfulp rounds each op of the module once. The
    parts of a complex output are two outputs, whose names end with ``.real`` and ``.imag``. With ``bounds``, the result
    has a `tosa_verdict` for each output in ``verdicts``, or, for several operators, a list of verdicts in ``ops``.

        >>> hu.compare(jnp.tanh, np.linspace(-3, 3, 1000, dtype=np.float32))

    Raises TypeMismatch if ``f`` is not a function, Unsupported for ``bounds`` with JAX, and the
    errors of `from_jax`, `from_torch` and `run`.
    """
    if isinstance(f, str | Module):
        raise Unsupported(
            "hu.compare runs functions of JAX, not modules",
            hint="hu.bisect compares a module with the stages of its passes",
        )
    if not callable(f):
        raise TypeMismatch(
            f"hu.compare takes a function of JAX and its arguments, not {type(f).__name__}",
            hint="hu.error(x, reference=y) measures how far two arrays are apart",
        )
    checked_metric(metric)
    if bounds not in (None, "tosa"):
        raise InputError(f"bounds is {bounds!r}, but must be 'tosa' or None")
    settings = run_options("compare", CallKeywords, options)
    if is_torch(f):
        return _beside_torch(f, args, settings, metric, bounds)
    if bounds is not None:
        raise Unsupported(
            "TOSA has no bounds for a function of JAX",
            hint="hu.tosa_verdict judges results of a program with one op of tosa",
        )
    args = without_tensors(args)
    program = traced(f, args, lower)
    jax: Any = import_module("jax")
    given = program.inputs(args)
    ours = run_with(program.module, given, settings)
    found = jax.tree_util.tree_leaves_with_path(program.lowered.compile()(*args))
    outputs = [
        output
        for value, (path, leaf) in zip(ours, found, strict=True)
        for output in _beside(jax.tree_util.keystr(path), value, np.asarray(leaf))
    ]
    return _comparison(program.name, program.module, given, settings, outputs, "JAX", metric)


def _beside_torch(
    model: Any, args: Sequence[Any], options: RunOptions, metric: str, bounds: Literal["tosa"] | None
) -> Comparison:
    torch: Any = import_module("torch")
    pytree: Any = import_module("torch.utils._pytree")
    program = exported(model, () if is_exported(model) else args, bounds or "stablehlo")
    given = program.inputs(args)
    # The model may write to its arguments.
    copies = pytree.tree_map(lambda leaf: leaf.clone() if is_tensor(leaf) else leaf, pytree.tree_map(as_torch, args))
    runner = model.module() if is_exported(model) else model
    with torch.no_grad(), unchanged(runner, program.written):
        found = runner(*copies)
        found = _with_written(program, found, copies, runner)
    outputs = _torch_outputs(program, given, options, found)
    comparison = _comparison(program.name, program.module, given, options, outputs, "torch", metric)
    if not bounds:
        return comparison
    if len(_rules().computing(find_entry(program.module))) > 1:
        return replace(comparison, ops=tuple(_judged_ops(model, args, options)))
    return replace(comparison, verdicts=_verdicts(program.module, given, options, outputs))


def _rules() -> Any:
    """Import the rules of TOSA, which load the dialect, only if they are needed."""
    return import_module("halfulp.conformance.comparing.tosa_functions")


def _with_written(program: Exported, found: Any, arguments: Any, runner: Any = None) -> list[tuple[str, Any]]:
    """Return the tensors in the results of torch, and after them those that it wrote in place, with their names.

    ``arguments``: the nested arguments, and ``runner``: the module, both after the call.
    """
    inputs = [leaf for _, leaf in named_leaves(arguments) if is_tensor(leaf)]
    new = [
        (each.name, attrgetter(each.name)(runner) if each.argument is None else inputs[each.argument])
        for each in program.written
    ]
    return [(name, leaf.detach().clone()) for name, leaf in (*named_leaves(found), *new) if is_tensor(leaf)]


def _torch_outputs(
    program: Exported, given: Sequence[Any], options: RunOptions, found: Sequence[tuple[str, Any]]
) -> list[Output]:
    """Return the outputs of a program beside those of torch, as `_with_written` gives them."""
    ours = run_with(program.module, given, options)
    leaves = [(name, as_array(leaf, "a result")) for name, leaf in found]
    return [output for value, (name, array) in zip(ours, leaves, strict=True) for output in _beside(name, value, array)]


def _verdicts(
    module: Module, given: Sequence[Any], options: RunOptions, outputs: Sequence[Output]
) -> tuple[TosaVerdict, ...]:
    entry = find_entry(module)
    values = [value.load() if isinstance(value, Buffer) else value for value in given_arguments(entry, given, options)]
    found: tuple[TosaVerdict, ...] = _rules().judged_function(entry, values, [theirs for _, _, theirs in outputs])
    return found


def _judged_ops(model: Any, args: Sequence[Any], options: RunOptions) -> Iterator[JudgedOp]:
    """Yield the verdict on each op of a program of torch, on the operands that torch gave it."""
    torch: Any = import_module("torch")
    pytree: Any = import_module("torch.utils._pytree")
    args = tuple(
        pytree.tree_map(lambda leaf: leaf.clone() if is_tensor(leaf) else leaf, pytree.tree_map(as_torch, args))
    )
    program = model if is_exported(model) else torch.export.export(model, args)
    calls: list[tuple[Any, Any, Any, Any]] = []

    class Watching(torch.fx.Interpreter):  # type: ignore[misc]
        def run_node(self, node: Any) -> Any:
            if node.op != "call_function":
                return super().run_node(node)
            given = self.fetch_args_kwargs_from_env(node)
            before = pytree.tree_map(lambda x: x.clone() if is_tensor(x) else x, given)
            found = super().run_node(node)
            calls.append((node, before, *pytree.tree_map(lambda x: x.clone() if is_tensor(x) else x, (given, found))))
            return found

    class Whole(torch.nn.Module):  # type: ignore[misc]
        """One op with its operands; those that are not tensors are fixed."""

        def __init__(self, target: Any, leaves: Sequence[Any], tree: Any) -> None:
            super().__init__()
            self.target, self.leaves, self.tree = target, leaves, tree

        def forward(self, *tensors: Any) -> Any:
            rest = iter(tensors)
            filled = [next(rest) if is_tensor(leaf) else leaf for leaf in self.leaves]
            positional, named = pytree.tree_unflatten(filled, self.tree)
            return self.target(*positional, **named)

    runner = program.module()
    written = [Written(name) for name, _ in runner.named_buffers()]
    with torch.no_grad(), unchanged(runner, written):
        Watching(runner).run(*args)
    for node, operands, after, found in calls:
        leaves, tree = pytree.tree_flatten(operands)
        tensors = [leaf for leaf in leaves if is_tensor(leaf)]
        verdicts: tuple[TosaVerdict, ...] = ()
        try:
            alone = exported(Whole(node.target, leaves, tree), tensors, "tosa")
            given = alone.inputs(tensors)
            outputs = _torch_outputs(alone, given, options, _with_written(alone, found, after))
            verdicts, why = _verdicts(alone.module, given, options, outputs), ""
        except HalfulpError as error:
            why = error.message
        yield JudgedOp(node.name, str(node.target), verdicts, why)


def _comparison(
    name: str,
    module: Module,
    given: Sequence[Any],
    options: RunOptions,
    outputs: Sequence[Output],
    against: str,
    metric: str,
) -> Comparison:
    @cache
    def exact() -> list[neighbours.FloatSums | None]:
        if wrong_factor(module) is not None:  # exact numbers of the program are not those of the function
            return [None] * len(outputs)
        try:
            beside = replace(options, recorder=Shadows(), write=lambda text: None)
            results = run_with(module, given, beside)
            return [exact for value in results for exact in (exact_numbers(value),) * (2 if _is_complex(value) else 1)]
        except HalfulpError:
            return [None] * len(outputs)

    def exact_of(number: int) -> Exact:
        return lambda: exact()[number]

    found = [OutputDistance(*each, against, metric, exact_of(number)) for number, each in enumerate(outputs)]
    return Comparison(name, module, tuple(found))


Output = tuple[str, Value, Value]
"""The name of an output, our result and the other one."""


def _beside(name: str, ours: Value, array: npt.NDArray[Any]) -> list[Output]:
    """Return an output with the result of JAX as a value of the type of ours; two outputs for complex numbers."""
    if not isinstance(ours.element_type, ty.ComplexType):
        return [(name, ours, Value.from_numpy(array, ours.type))]
    part = ty.with_element(ours.type, ours.element_type.element)
    both = zip(("real", "imag"), _parts(ours, part), (array.real, array.imag), strict=True)
    return [(f"{name}.{which}", value, Value.from_numpy(np.asarray(each), part)) for which, value, each in both]


def _is_complex(value: Value) -> bool:
    return isinstance(value.element_type, ty.ComplexType)


def _parts(value: Value, part: ty.Type) -> list[Value]:
    """Return the real and the imaginary parts of complex numbers, as values of a type."""
    return [Value(part, value.bits[..., k], value.poison, value.open, value.origins) for k in range(2)]


def exact_numbers(value: Value) -> neighbours.FloatSums | None:
    """Return the exact numbers beside a result, where they are known up to a part of their error."""
    shadow, element = shadow_of(value), value.element_type
    if shadow is None or not isinstance(element, ty.FloatType) or not has_shadows(element.format):
        return None
    numbers = np.asarray(as_f64(element.format, value.bits), np.float64)
    known = np.isfinite(numbers) & (
        shadow.radius <= np.maximum(_CLOSE * np.abs(numbers), _CLOSE * np.abs(shadow.error))
    )
    return neighbours.FloatSums(np.where(known, numbers, nan), np.where(known, shadow.error, 0.0))


def _finite(numbers: neighbours.Floats) -> neighbours.Floats:
    return np.where(np.isfinite(numbers), numbers, 0.0)


def _plain(figure: Any) -> Any:
    """Return a figure for JSON, which has no infinities and no NaN."""
    if isinstance(figure, tuple):
        return [_plain(each) for each in figure]
    if not isinstance(figure, float) or isfinite(figure):
        return figure
    return None if figure != figure else str(figure)
