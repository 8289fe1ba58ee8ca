"""The mode that judges an eager program of PyTorch: `torch_mode`."""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from html import escape
from importlib import import_module
from itertools import islice
from textwrap import shorten
from types import CodeType
from typing import Any

import numpy as np

from halfulp.aten import elementwise, moves, sums
from halfulp.aten.calls import SEVERITY, Call, NotJudged, Verdict, array_of, dtype_of, judge, severity
from halfulp.aten.elementwise import Rule
from halfulp.fp_formats.spelling import fragment, table, table_lines, title
from halfulp.importing.common import OWN, require
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.values.coerce import is_tensor

RULES: Mapping[str, Rule] = {**elementwise.TABLE, **sums.TABLE, **moves.TABLE}
"""What each op may return."""
VIEWS, EMPTY, RANDOM = frozenset(moves.VIEWS), frozenset(moves.EMPTY), frozenset(moves.RANDOM)


NARROW: Mapping[str, str] = {
    "addmv": "the product is rounded before the addend is added",
    "addbmm": "the products of the batches are added in the type of the tensors",
    "_softmax": "along another axis than the last one, steps are rounded",
    "_log_softmax": "the sum and its logarithm are rounded; along another axis than the last one, all steps",
    "_softmax_backward_data": "along another axis than the last one, steps are rounded",
    "_log_softmax_backward_data": "along another axis than the last one, steps are rounded",
    "native_batch_norm": "the scale and the shift of a channel are rounded",
    "_native_batch_norm_legit": "the scale and the shift of a channel are rounded",
    "_native_batch_norm_legit_no_training": "the scale and the shift of a channel are rounded",
    "native_layer_norm_backward": "the gradients of weight and bias are added in the type of the tensors",
    "convolution": "a transposed convolution adds columns in the type of the tensors",
    "rsqrt": "the square root is rounded before it divides",
    "xlogy": "the logarithm is rounded before the product",
    "sigmoid_backward": "in the last elements of a tensor, steps are rounded",
    "pow": "of bf16, each product of a cube is rounded, and for the exponents -2 and -0.5 the square or the root",
    "convolution_backward": "sums are rounded to the type of the tensors",
    "mse_loss": "the difference is rounded before it is squared",
    "binary_cross_entropy": "each step is rounded",
    "nll_loss_forward": "losses are added in the type of the tensors",
    "mse_loss_backward": "the factor, the difference and each product are rounded",
    "prod": "each product is rounded",
    "cumprod": "each product is rounded",
    "cumsum": "each sum is rounded",
    "embedding_dense_backward": "rows are added in the type of the tensors",
    "index_add": "rows are added in the type of the tensors",
    "index_put": "elements are added in the type of the tensors",
    "scatter_add": "elements are added in the type of the tensors",
    "max_pool2d_with_indices_backward": "elements are added in the type of the tensors",
}
"""Ops that ATen computes on a CPU, for types of 16 bits, not in f32 throughout, and how, as measured in torch 2.13."""


def _other_axis(call: Call) -> bool:
    rank = call.results[0].ndim
    return bool(rank > 0 and int(call["dim"]) % rank != rank - 1)


_ONLY: Mapping[str, Callable[[Call], bool]] = {
    "_softmax": _other_axis,
    "_softmax_backward_data": _other_axis,
    "_log_softmax_backward_data": _other_axis,
    "convolution": lambda call: bool(call["transposed"]),
    "pow": lambda call: call["exponent"] in (-2, -0.5) or (call.dtype.name == "bfloat16" and call["exponent"] == 3),
    "mse_loss": lambda call: call["reduction"] == 0,
}
"""The calls of ops of `NARROW` that are computed like this, if not all are."""


@dataclass(frozen=True)
class SeenOp:
    """One call of an op that a `TorchJudge` saw.

    ``number``: how many calls came before it. ``name``: such as ``aten.mm``. ``place``: the line of the program, as
    ``file:line``. ``call``: what is called there, as the program writes it, and after ``>`` the function of
    ``torch.nn.functional`` that runs the op, such as ``self.attention(x, x, x) > multi_head_attention_forward``. An op
    of autograd has the place and the call whose gradient it computes: ``gradient of F.gelu(x)``. ``verdict``: None if
    the call is not judged, and ``reason`` says why. ``hashes``: of its results, if they were asked for.
    """

    number: int
    name: str
    place: str
    call: str
    types: str
    verdict: Verdict | None
    reason: str = ""
    hashes: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = f"at {self.place}" + (f" ({self.call})" if self.call else "")
        if self.verdict is None:
            return f"{self.number}: {self.name} {place}: not judged: {self.reason}"
        text = f"{self.number}: {self.name} {self.types} {place}: {self.verdict.kind}, {self.verdict.ulp:.3g} ulp"
        if self.verdict.at is not None:
            index, found, exact = self.verdict.at
            text += f"; {self.verdict.wrong:,} elements, at {list(index)}: {found:.9g}, exactly {exact:.17g}"
        return text


class TorchJudge:
    """What `torch_mode` saw: each op of a program, with its verdict.

    ``ops``: a `SeenOp` for each call, in order.
    """

    def __init__(self) -> None:
        self.ops: list[SeenOp] = []

    @property
    def first(self) -> SeenOp | None:
        """The first call with a result that nothing explains; None if there is none."""
        return next((op for op in self.ops if op.verdict is not None and op.verdict.kind == "unexplained"), None)

    @property
    def unexplained(self) -> list[SeenOp]:
        """All calls with results that nothing explains."""
        return [op for op in self.ops if op.verdict is not None and op.verdict.kind == "unexplained"]

    @property
    def not_judged(self) -> Counter[str]:
        """How often calls were not judged, by the name of the op and the reason."""
        return Counter(f"{op.name}: {op.reason}" for op in self.ops if op.verdict is None)

    def first_difference(self, other: TorchJudge) -> tuple[SeenOp | None, SeenOp | None] | None:
        """Compare with another run of the same program, by the hashes of all results. Return the first call that
        differs, in both runs; None if no call differs. Both runs need ``hashes=True``.
        """
        for one, two in zip(self.ops, other.ops, strict=False):
            if (one.name, one.hashes) != (two.name, two.hashes):
                return one, two
        if len(self.ops) == len(other.ops):
            return None
        count = min(len(self.ops), len(other.ops))
        return next(iter(self.ops[count:]), None), next(iter(other.ops[count:]), None)

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row for each op: its name, its calls, the calls by verdict, and the largest distance in ulp."""
        by_name: dict[str, list[SeenOp]] = {}
        for op in self.ops:
            by_name.setdefault(op.name, []).append(op)
        rows = []
        for name, calls in by_name.items():
            verdicts = [op.verdict for op in calls if op.verdict is not None]
            counts = Counter(verdict.kind for verdict in verdicts)
            largest = max((verdict.ulp for verdict in verdicts), default=None)
            numbers = (len(calls), *(counts[kind] for kind in SEVERITY), len(calls) - len(verdicts))
            rows.append((name, *(f"{each:,}" for each in numbers), "" if largest is None else f"{largest:.3g}"))
        return rows

    @property
    def _notes(self) -> list[str]:
        first = self.first
        found = "no op is unexplained" if first is None else f"the first that nothing explains is {first}"
        skipped = [f"not judged, {count:,} times {what}" for what, count in self.not_judged.most_common()]
        return [f"{len(self.ops):,} calls; {found}", *skipped]

    def __repr__(self) -> str:
        return "\n".join([*table_lines([_HEAD, *self.rows()]), *self._notes])

    def _repr_html_(self) -> str:
        rows = table([tuple(map(escape, row)) for row in self.rows()], _HEAD)
        return fragment(title("Ops of PyTorch"), rows, *(f"<p>{escape(text)}</p>" for text in self._notes))


_HEAD = ("op", "calls", *SEVERITY, "not judged", "max ulp")


def torch_mode(*, hashes: bool = False, stop: bool = False) -> Any:
    """Return a context manager that judges each op of an eager program of PyTorch inside of it, also those of autograd.

    ``hashes``: keep a hash of each result, to compare two runs by ``first_difference``.
    ``stop``: raise HalfulpError at the first op whose result nothing explains.

    Each op of ATen runs as usual, and its results are compared with exact ones, computed by halfulp from the same
    operands. The verdict is one of:

    - equal: the same elements, or each number correctly rounded;
    - order: within the bound of rounding errors of any order of additions, with or without fused products;
    - approximation: within the documented error of the functions that the op computes;
    - narrow: the op is known to round sums or steps to the type of 16 bits of its tensors, and is within that bound;
    - unexplained: none of these.

    An op without a rule is counted as not judged, and so are random numbers and what a rule does not cover. The value
    of the ``with`` statement has ``ops``, ``first``, ``unexplained``, ``not_judged``, and prints as a table.

        >>> with hu.torch_mode() as seen:
        ...     loss(model(x), y).backward()
        >>> seen.first

    Raises Unsupported if torch is not installed.
    """
    require("torch", "hu.torch_mode")
    return _mode_class()(hashes, stop)


_OTHERS = frozenset(("profiler", "prim"))
"""Namespaces of ops that compute nothing."""

_CLASSES: list[type[Any]] = []


def _mode_class() -> type[Any]:
    """Return the class of the mode, which is made at its first use, since its base is of torch."""
    if _CLASSES:
        return _CLASSES[0]
    torch: Any = import_module("torch")
    base: Any = import_module("torch.utils._python_dispatch").TorchDispatchMode
    hidden = (os.path.join(os.path.dirname(torch.__file__), ""), OWN)

    class Mode(base):  # type: ignore[misc]
        def __init__(self, hashes: bool, stop: bool) -> None:
            super().__init__()
            self.seen, self._hashes, self._stop = TorchJudge(), hashes, stop
            self._nodes, self._calls = 0, dict[int, tuple[str, str]]()

        def __enter__(self) -> TorchJudge:
            super().__enter__()
            self._nodes = torch.autograd._get_sequence_nr()
            return self.seen

        def _caller(self) -> tuple[str, str]:
            """Return the place and the text of the call that runs an op: from the stack, or that of the node of
            autograd. torch numbers the nodes, and makes that of an op before it runs the op.

            A TorchFunctionMode would know the function, too, but torch takes other paths under it:
            nn.MultiheadAttention would not run its fused op.
            """
            node = torch._C._current_autograd_node()
            known = None if node is None else self._calls.get(node._sequence_nr())
            place, call = _caller(hidden) if known is None else (known[0], f"gradient of {known[1]}")
            nodes = torch.autograd._get_sequence_nr()
            self._calls.update(dict.fromkeys(range(self._nodes, nodes), (place, call)))
            self._nodes = nodes
            return place, call

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.namespace in _OTHERS:
                return func(*args, **(kwargs or {}))
            op, out = seen_call(func, args, kwargs or {}, len(self.seen.ops), self._caller(), self._hashes)
            self.seen.ops.append(op)
            if self._stop and op.verdict is not None and op.verdict.kind == "unexplained":
                raise HalfulpError(f"nothing explains the result of {op}")
            return out

    _CLASSES.append(Mode)
    return Mode


_FUNCTIONS = os.path.join("torch", "nn", "functional.py")


def _caller(hidden: Sequence[str]) -> tuple[str, str]:
    """Return the innermost line of the user's program, and what it calls."""
    frame: Any = sys._getframe(3)
    function = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(hidden) and not file.startswith("<frozen"):
            text = _text(frame.f_code, frame.f_lasti // 2)
            hides = function and f"{function}(" not in text
            return f"{file}:{frame.f_lineno}", f"{text} > {function}" if hides else text
        if file.endswith(_FUNCTIONS):
            function = frame.f_code.co_name
        frame = frame.f_back
    return "unknown", ""


_LONGEST = 60
"""The characters of a call that are shown."""


@lru_cache(maxsize=1 << 14)
def _text(code: CodeType, instruction: int) -> str:
    """Return the source of the expression that an instruction computes, on one line."""
    first, last, start, end = next(islice(code.co_positions(), instruction, None))
    if first is None or last is None or start is None or end is None:
        return ""
    lines = [linecache.getline(code.co_filename, line).encode() for line in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return shorten(b" ".join(lines).decode(errors="replace"), _LONGEST, placeholder=" …")


def seen_call(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], number: int, caller: tuple[str, str], hashes: bool
) -> tuple[SeenOp, Any]:
    """Run an op, and judge its results. Return the record and the results. ``caller``: the place and the call."""
    schema = func._schema
    name = schema.name.rpartition("::")[2]
    whole = _plain_name(name)
    plain = _FOREACH.get(whole, whole.removeprefix("_foreach_"))
    rule = RULES.get(plain)
    given = _bound(schema, args, kwargs)
    if rule is not None and (schema.is_mutable or plain in _OVERWRITES):
        written = {at for each in schema.arguments if each.is_write for at in _memory(given[each.name])}
        given = {
            key: _copied(each) if plain in _OVERWRITES or _memory(each) & written else each
            for key, each in given.items()
        }
    out = func(*args, **kwargs)
    results = list(out) if isinstance(out, list | tuple) else [out]
    calls = [Call(plain, given, results)]
    if plain != whole:
        results = results if any(map(is_tensor, results)) else list(args[0])  # it wrote into its arguments
        calls = [Call(plain, _entries(plain, given, place), [each]) for place, each in enumerate(results)]
    tensors = [each for each in results if is_tensor(each)]
    verdict: Verdict | None = None
    reason = ""
    if plain in VIEWS:
        verdict = Verdict("equal", 0.0)
    elif plain in EMPTY:
        reason = "its result holds nothing"
    elif plain in RANDOM:
        reason = "random numbers"
    elif rule is None:
        reason = "no rule"
    elif not tensors:
        reason = "no tensor in its results"
    elif any(each.is_complex() for each in (*tensors, *_tensors([*calls[0].arguments.values()]))):
        reason = "complex numbers"
    else:
        try:
            with np.errstate(all="ignore"):
                verdict = max((_verdict(rule, call) for call in calls), key=severity)
        except NotJudged as why:
            reason = str(why)
        except (HalfulpError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError) as why:
            reason = f"its rule does not cover this call ({type(why).__name__}: {why})"
    kept = tuple(_hash(each) for each in tensors) if hashes else ()
    types_ = ", ".join(dtype_of(each) + ("" if each.is_nested else str(list(each.shape))) for each in tensors)
    prefix = schema.name.partition("::")[0]
    return SeenOp(number, f"{prefix}.{name}", *caller, types_, verdict, reason, kept), out


def _verdict(rule: Rule, call: Call) -> Verdict:
    rounds = call.name in NARROW and _ONLY.get(call.name, bool)(call)
    narrow = cache(partial(rule, replace(call, narrow=True))) if rounds else None
    return judge(rule(call), call.results, narrow)


_FOREACH: Mapping[str, str] = {"_foreach_norm": "linalg_vector_norm"}
"""Ops on lists of tensors whose entries are computed by an op of another name than theirs."""
_ENTRIES: Mapping[str, str] = {"scalar": "other", "scalars": "other", "tensors1": "end", "weights": "weight"}
_OTHERS_OF: Mapping[str, str] = {"clamp_min": "min", "clamp_max": "max", "addcmul": "value", "addcdiv": "value"}


def _entries(name: str, given: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return the arguments of an op on one entry of lists, with the names of that op."""
    found = {}
    for key, each in given.items():
        key = _ENTRIES.get(key, key)
        found[_OTHERS_OF.get(name, key) if key == "other" else key] = (
            each[place] if isinstance(each, list | tuple) else each
        )
    return found


_OVERWRITES = frozenset(("native_batch_norm", "_native_batch_norm_legit"))


def _plain_name(name: str) -> str:
    """Return the name of an op without the mark of ops that write into their argument."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _bound(schema: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by their names."""
    found = {}
    for place, argument in enumerate(schema.arguments):
        if place < len(args):
            found[argument.name] = args[place]
        elif argument.name in kwargs:
            found[argument.name] = kwargs[argument.name]
        else:
            found[argument.name] = argument.default_value
    return found


def _memory(given: Any) -> set[int]:
    """Return the addresses of the memory of tensors, 0 for one that has no single address."""
    try:
        return {int(each.untyped_storage().data_ptr()) for each in _tensors(given)}
    except RuntimeError:  # a sparse tensor, for example
        return {0}


def _tensors(given: Any) -> list[Any]:
    return list(filter(is_tensor, given if isinstance(given, list | tuple) else [given]))


def _copied(given: Any) -> Any:
    if is_tensor(given):
        return given.detach().clone()
    return [_copied(each) for each in given] if isinstance(given, list | tuple) else given


def _hash(tensor: Any) -> str:
    try:
        data = array_of(tensor).tobytes()
    except (HalfulpError, TypeError, ValueError):
        return "unknown"
    return hashlib.blake2b(data, digest_size=8).hexdigest()
