"""Compare many pairs of programs that have most of their ops in common: what is equal runs once.

Each op gets a number by its text and the numbers of its operands, in all programs alike, and runs once for all inputs.
Ops of the same text in different programs run together, as lanes of one batch; elementwise ops do so whatever the shape
of their operands is. An argument has the same inputs in all programs, so a program that was changed in one place costs
the ops that depend on this place.

`SharedRuns.judged` only says that a pair is right, or undefined. What it cannot tell, and everything that may be wrong,
is left to `validation.compare`, with the same inputs.

Texts are those that MLIR prints in the generic form: one function of one block, without memory and calls.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from itertools import cycle, islice
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfulp.conformance.comparing.refinement import Verdict, judged
from halfulp.conformance.whole_programs.arguments import Arguments, Domain, Part, every_code, is_dynamic, trip_counts
from halfulp.conformance.whole_programs.generator.grower import MOST_BYTES, NAME
from halfulp.conformance.whole_programs.points import MOVED, Axes, generic_of, inverse, moved, moved_text, on_tensors
from halfulp.conformance.whole_programs.printed import silent
from halfulp.conformance.whole_programs.two_runs import BATCH_STEPS, Version, settled
from halfulp.conformance.whole_programs.validation import bounding_arguments
from halfulp.fp_formats.formats import Mask, ints_to_codes
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation, argument_types, result_types
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.loading import parse_module
from halfulp.interp.run.batch.program import accesses_together
from halfulp.interp.run.elementwise import ElementwiseStep
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.elements import apply
from halfulp.interp.values.lanes import lanes_of, over_lanes, repeated
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import FaultKind, zeroed

LANES = 32
"""Inputs of each program."""

MOST_OPS = 60_000
"""Ops whose results are kept. After that, all is made anew, with other inputs."""

SMALL_LANES, CORNER_LANES = 4, 14
"""Inputs in which all indices are small, so that offsets and sizes fit each other, and inputs of corners alone, whose
sums and products leave the range of the type.
"""

_HEAD = re.compile(
    r'"builtin\.module"\(\) \(\{\n  "func\.func"\(\) <\{function_type = [^\n]*, sym_name = "' + NAME + r'"\}> \(\{\n'
)
_TAIL = "  }) : () -> ()\n}) : () -> ()"
_OP = re.compile(r'(?:(%[\w$.-]+)(?::(\d+))? = )?"([^"]+)"\(([^()]*)\)(.*)', re.DOTALL)
_ALIAS = re.compile(r"^([#!][\w$.-]+) = (.*)$", re.MULTILINE)
_ALIASED = re.compile(r"[#!][A-Za-z_][\w$.-]*")
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_SHAPED = re.compile(r"(?:vector|tensor)<((?:\d+x)+)([\w]+)>")
_SCALAR = re.compile(r"()([\w]+)")
_OUTSIDE = re.compile(r'memref<|!llvm\.|"func\.call|"llvm\.|"vector\.print|"func\.constant|\n  \^(?!bb0\()|resource<')
"""What does not run op by op."""
_SILENT = re.compile(r'!llvm\.|"llvm\.|"vector\.print|"func\.call_indirect|resource<')
"""What is left to `validation.compare`."""

_CHOOSES = frozenset({"arith.select"})
"""Ops that are elementwise, too, if their operands have one shape."""

_OP_NAME = re.compile(r'"([\w$]+\.[\w$.-]+)"\(')


def names_of(text: str) -> list[str]:
    """Return the names of all ops of a text in the generic form, without the module."""
    return [name for name in _OP_NAME.findall(text) if name != "builtin.module"]


class Shared(Enum):
    """What is known of a pair. ``UNKNOWN``: nothing."""

    UNKNOWN = "unknown"
    UNCHANGED = "unchanged"
    EQUAL = "equal"
    OPEN = "open"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Known:
    """What is known of a pair, and on how many inputs the first program is undefined.

    ``arguments``: the inputs; None if the programs have not run.
    """

    outcome: Shared
    undefined: int = 0
    arguments: Arguments | None = None


_NOTHING = Known(Shared.UNKNOWN)


class _Key(NamedTuple):
    """The key of a compiled op: its name and the rest of its text, and the types of its operands."""

    name: str
    rest: str
    inputs: tuple[str, ...]
    elementwise: bool


@dataclass(eq=False)
class _Code:
    """An op of a given text, compiled as a function of its operands of these types. ``step``: that of an elementwise
    op. Neither ``version`` nor ``step``: it cannot run.
    """

    types: Sequence[ty.Type] = ()
    version: Version | None = None
    step: ElementwiseStep | None = None


@dataclass(eq=False)
class _Node:
    """An op with given operands. ``values``: its results over lanes; None if no lane has any. ``stopped``: the lanes
    that are undefined. ``unknown``: those for which there is no result.
    """

    text: tuple[str, str]
    operands: tuple[tuple[_Node, int], ...]
    types: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    done: bool = False
    values: tuple[Value, ...] | None = None
    stopped: Mask = field(default_factory=lambda: np.zeros(LANES, np.bool_))
    unknown: Mask = field(default_factory=lambda: np.zeros(LANES, np.bool_))
    level: int = 0


_Ref = tuple[_Node, int]


@dataclass(frozen=True)
class _Program:
    """``ops``: those of the text. ``nodes``: those that run."""

    ops: list[_Node]
    nodes: list[_Node]
    returned: list[_Ref]


class _Pair(NamedTuple):
    first: _Program
    second: _Program
    arguments: list[_Node]

    @property
    def is_same(self) -> bool:
        """Whether the second program returns what the first one does, and has no op that this has not."""
        one, two = self.first, self.second
        return one.returned == two.returned and set(one.nodes).issuperset(two.nodes)


class SharedRuns:
    """The ops of all programs so far, with their results."""

    def __init__(self, seed: int, max_steps: int) -> None:
        self._seed = seed
        self._settings = Settings(max_steps=max_steps, max_bytes=MOST_BYTES, write=silent, track_open=True)
        self._codes: dict[_Key, _Code] = {}
        self._epoch = -1
        self._renew()

    def _renew(self) -> None:
        self._epoch += 1
        self._nodes: dict[Any, _Node] = {}

    def judged(self, programs: Sequence[tuple[Operation, str, str]]) -> list[Known]:
        """Judge programs: the function, and the texts of its module before and after a pass.

        What an op gives that ends in an internal error is not known: the run of the program alone shows the error.
        """
        if len(self._nodes) > MOST_OPS:
            self._renew()
        try:
            return self._judged(programs)
        except Exception:
            self._renew()
            self._codes.clear()
            return [Known(Shared.UNKNOWN)] * len(programs)

    def _judged(self, programs: Sequence[tuple[Operation, str, str]]) -> list[Known]:
        pairs = [self._pair(*program) for program in programs]
        waiting = [pair for pair in pairs if pair is not None and not pair.is_same]
        self._evaluate(node for pair in waiting for one in (pair.first, pair.second) for node in one.nodes)
        return [
            self._whole(*program) if pair is None else self._known(program[0], pair)
            for program, pair in zip(programs, pairs, strict=True)
        ]

    # --- reading ---

    def _pair(self, function: Operation, before: str, after: str) -> _Pair | None:
        if _OUTSIDE.search(before) or _OUTSIDE.search(after):
            return None
        try:
            arguments = self._arguments(function)
            one = None if arguments is None else self._program(before, arguments)
            two = None if one is None or arguments is None else self._program(after, arguments)
        except (KeyError, HalfulpError):  # an op that is not where the text says, or a type without numbers
            return None
        if one is None or two is None or len(one.returned) != len(two.returned):
            return None
        same = all(a.types[i] == b.types[j] for (a, i), (b, j) in zip(one.returned, two.returned, strict=True))
        return _Pair(one, two, arguments) if same and arguments is not None else None

    def _arguments(self, function: Operation) -> list[_Node] | None:
        types = argument_types(function)
        if any(is_dynamic(type_) or element_width(ty.element_type(type_)) is None for type_ in types):
            return None
        bounds = bounding_arguments(function) if types else frozenset()
        return [self._argument(number, type_, number in bounds) for number, type_ in enumerate(types)]

    def _argument(self, number: int, type_: ty.Type, bounds: bool) -> _Node:
        key = number, type_, bounds
        if key not in self._nodes:
            made = self._nodes[key] = _Node(("", ""), (), (str(type_),), done=True)
            element = ty.element_type(type_)
            is_bound = bounds and not isinstance(type_, ty.ShapedType)
            domain = trip_counts(element) if is_bound else every_code(element)
            rng = random.Random(f"{self._seed} {self._epoch} {number} {type_}")
            made.values = (_inputs(type_, domain, rng),)
        return self._nodes[key]

    def _program(self, text: str, arguments: Sequence[_Node]) -> _Program | None:
        head = _HEAD.search(text)
        end = text.rfind(_TAIL)
        if head is None or end < 0:
            return None
        body = text[head.end() : end]
        if head.start():
            body = _without_aliases(text[: head.start()], body)
        lines = body.split("\n")
        env: dict[str, _Ref] = {}
        start = 0
        if lines[0].startswith("  ^"):
            start = 1
            given = [each.partition(": ") for each in lines[0][lines[0].index("(") + 1 : -2].split(", %")]
            if len(given) != len(arguments):
                return None
            for (name, _, type_), node in zip(given, arguments, strict=True):
                if node.types[0] != type_:
                    return None
                env["%" + name.lstrip("%")] = node, 0
        elif arguments:
            return None
        ops: list[_Node] = []
        nodes: list[_Node] = []
        for result, count, what, operands, rest in _ops(lines[start:], 4):
            refs = [env[each] for each in operands.split(", ")] if operands else []
            if what == "func.return":
                return _Program(ops, nodes, refs)
            made: list[_Ref] | None = None
            if "({" in rest:
                if what == "linalg.generic":
                    made = self._points(rest, refs, env, nodes)
                rest, inner = _canonical(rest, env)
                refs += inner
            node = self._node(what, rest, tuple(refs))
            ops.append(node)
            if made is None:
                nodes.append(node)
                env |= _named(result, count, node)
            else:
                env |= zip(_names(result, count), made, strict=True)
        return None

    def _points(
        self, rest: str, operands: Sequence[_Ref], env: dict[str, _Ref], nodes: list[_Node]
    ) -> list[_Ref] | None:
        """Add the ops of a `Generic` to ``nodes``, and return its results; None if it runs as a whole."""
        inputs = tuple([node.types[number] for node, number in operands])
        generic = generic_of(rest, inputs, _signature(rest)[1])
        if generic is None:
            return None
        made: list[_Node] = []

        def over_space(ref: _Ref, axes: Axes, shape: str) -> _Ref:
            text = moved_text(axes, shape, _type(ref))
            if text is None:
                return ref
            made.append(self._node(MOVED, text, (ref,)))
            return made[-1], 0

        points = {
            name: over_space(ref, axes, generic.shape)
            for name, ref, axes in zip(generic.arguments, operands, generic.axes, strict=True)
            if f"{name}," in generic.used or f"{name})" in generic.used
        }
        around = dict(env)
        for result, count, what, given, own in _ops(generic.body, 6):
            names = given.split(", ") if given else []
            if what != "linalg.yield" and points.keys().isdisjoint(_VALUE.findall(own) if "({" in own else names):
                # The same for all points.
                refs, inner = [around[each] for each in names], list[_Ref]()
                if "({" in own:
                    own, inner = _canonical(own, around)
                node = self._node(what, own, (*refs, *inner))
                made.append(node)
                around |= _named(result, count, node)
                continue
            if any(each not in points and "<" in _type(around[each]) for each in names):
                return None
            refs = [points[each] if each in points else over_space(around[each], (), generic.shape) for each in names]
            if what == "linalg.yield":
                moves = [inverse(back, generic.shape) for back in generic.back]
                results = [over_space(ref, *move) for ref, move in zip(refs, moves, strict=True)]
                nodes += made
                return results
            tensors = on_tensors(own, generic.shape)
            if result is None or count is not None or tensors is None:
                return None
            node = self._node(what, tensors, tuple(refs))
            if _flattened(*node.text, node.inputs) is None:
                return None
            made.append(node)
            points[result] = node, 0
        return None

    def _node(self, name: str, rest: str, operands: tuple[_Ref, ...]) -> _Node:
        key = name, rest, operands
        known = self._nodes.get(key)
        if known is None:
            inputs = tuple(node.types[number] for node, number in operands)
            known = self._nodes[key] = _Node((name, rest), operands, _signature(rest)[1], inputs)
        return known

    # --- running ---

    def _evaluate(self, nodes: Iterable[_Node]) -> None:
        levels: dict[int, dict[_Node, None]] = defaultdict(dict)
        for node in nodes:
            if not node.done:
                node.level = 1 + max((each.level for each, _ in node.operands if not each.done), default=0)
                levels[node.level][node] = None
        self._compile(node for level in levels.values() for node in level)
        for level in sorted(levels):
            groups: dict[Any, list[_Node]] = defaultdict(list)
            for node in levels[level]:
                for each, _ in node.operands:
                    node.stopped |= each.stopped
                    node.unknown |= each.unknown
                flat = _flattened(*node.text, node.inputs)
                shapes = () if flat else tuple(_shape(each, number) for each, number in node.operands)
                groups[(*(flat or node.text), node.inputs if flat is None else flat, shapes)].append(node)
            for group in groups.values():
                try:
                    self._run(group)
                except Exception:  # an internal error: the run of each program alone shows it
                    self._codes[_compiled_as(group[0])] = _Code()
                    self._run(group)

    def _run(self, nodes: Sequence[_Node]) -> None:
        """Run ops of the same text together."""
        for node in nodes:
            node.done = True
        if nodes[0].text[0] == MOVED:
            for node in nodes:
                ((source, number),) = node.operands
                if source.values is not None:
                    node.values = (moved(node.text[1], source.values[number]),)
            return
        flat = _flattened(*nodes[0].text, nodes[0].inputs)
        code = self._codes[_compiled_as(nodes[0])]
        going = [node for node in nodes if not (node.stopped | node.unknown).all()]
        if code.version is None and code.step is None:
            for node in going:
                node.unknown |= ~node.stopped
            return
        if not going:
            return
        counts = [1 if flat is None else prod(_shape(*node.operands[0])) for node in going]
        active = np.concatenate(
            [np.repeat(~(node.stopped | node.unknown), count) for node, count in zip(going, counts, strict=True)]
        )
        columns = [
            _joined(type_, [_value(*node.operands[k]) for node in going], flat is not None)
            for k, type_ in enumerate(code.types)
        ]
        results: Sequence[Value]
        if code.step is not None:
            results, stopped = _elements(code.step, columns, len(active))
            stopped &= active
            unknown = np.zeros(len(active), np.bool_)
        else:
            assert code.version is not None
            try:
                found = settled(code.version, columns, active, BATCH_STEPS)
            except HalfulpError:
                for node in going:
                    node.unknown |= ~node.stopped
                return
            results = [_full(value, len(active)) for value in found.results]
            stopped, unknown = np.zeros(len(active), np.bool_), found.left
            for mask, _ in found.stopped:
                stopped |= mask
        start = 0
        for node, count in zip(going, counts, strict=True):
            lanes = slice(start, start + LANES * count)
            start = lanes.stop
            hit, left = (mask[lanes].reshape(LANES, count).any(axis=1) for mask in (stopped, unknown))
            node.stopped = node.stopped | hit
            node.unknown = (node.unknown | left) & ~node.stopped
            if results:
                shape = None if flat is None else _shape(*node.operands[0])
                node.values = tuple(_part(value, lanes, shape, node.operands) for value in results)

    def _compile(self, nodes: Iterable[_Node]) -> None:
        """Compile all ops that are not compiled yet, each as a function of one module."""
        keys = {_compiled_as(node): None for node in nodes if node.text[0] != MOVED}
        self._codes.update(self._compiled([key for key in keys if key not in self._codes]))

    def _compiled(self, keys: Sequence[_Key]) -> dict[_Key, _Code]:
        if not keys:
            return {}
        try:
            module = parse_module(
                "".join(_function_of(f"f{number}", key) for number, key in enumerate(keys)), exact_decimals=True
            )
        except HalfulpError:
            if len(keys) == 1:
                return {keys[0]: _Code()}
            half = len(keys) // 2
            return self._compiled(keys[:half]) | self._compiled(keys[half:])
        return {
            key: self._compiled_function(module, function, key) for key, function in zip(keys, module.body, strict=True)
        }

    def _compiled_function(self, module: Module, function: Operation, key: _Key) -> _Code:
        types, op = argument_types(function), next(iter(function.children))
        try:
            if key.elementwise and op.definition is not None and isinstance(op.definition.evaluate, Elementwise):
                kernel = op.definition.evaluate.build(op, self._settings)
                return _Code(types, step=ElementwiseStep(op, op.definition.evaluate, kernel, self._settings))
            return _Code(types, Version(module, function, self._settings, False))
        except HalfulpError:
            return _Code()

    # --- functions as a whole ---

    def _whole(self, function: Operation, before: str, after: str) -> Known:
        """Run a function whose ops cannot run alone, such as one with memory: the two versions, each in lanes."""
        types = tuple(argument_types(function))
        try:
            nodes = None if _SILENT.search(before) or _SILENT.search(after) else self._arguments(function)
            if nodes is None:
                return _NOTHING
            part = Part(types, types, tuple(_value(node, 0).bits for node in nodes), LANES)
            modules = [parse_module(text, exact_decimals=True) for text in (before, after)]
            functions = [found for module in modules if (found := module.lookup(NAME)) is not None]
            if not part.has_lanes_of_memory or len(functions) < 2 or len(set(map(_signature_of, functions))) > 1:
                return _NOTHING
            pairs = list(zip(modules, functions, strict=True))
            if not all(accesses_together(*pair, self._settings) for pair in pairs):
                return _NOTHING
            first, second = (Version(*pair, self._settings, False) for pair in pairs)
            given, every = part.lanes(), np.ones(LANES, np.bool_)
            one = settled(first, given, every, BATCH_STEPS)
            nothing = Known(Shared.UNKNOWN, 0, Arguments((part,)))
            if one.left.any():
                return nothing
            if not one.done.any():
                return replace(nothing, outcome=Shared.UNDEFINED, undefined=LANES)
            two = settled(second, given, one.done, BATCH_STEPS)
        except HalfulpError:
            return _NOTHING
        if two.left.any() or two.stopped or not one.results:
            return nothing
        pairs_ = [(_full(a, LANES), _full(b, LANES)) for a, b in zip(one.results, two.results, strict=True)]
        outcome = _judged(pairs_, np.flatnonzero(one.done))
        return replace(nothing, outcome=outcome, undefined=int((~one.done).sum()))

    # --- judging ---

    def _known(self, function: Operation, pair: _Pair) -> Known:
        one, two = pair.first, pair.second
        if pair.is_same:
            unchanged = _without_constants(one.ops) == _without_constants(two.ops)
            return Known(Shared.UNCHANGED if unchanged else Shared.EQUAL)
        types = tuple(argument_types(function))
        codes = tuple(_value(node, 0).bits for node in pair.arguments)
        arguments = Arguments((Part(types, types, codes, LANES),))
        stopped, unknown = ends_of(one.nodes)
        if stopped.all():
            return Known(Shared.UNDEFINED, LANES, arguments)
        nothing = Known(Shared.UNKNOWN, 0, arguments)
        stopped_after, unknown_after = ends_of(two.nodes)
        lanes = ~(stopped | unknown)
        if unknown_after[lanes].any() or not lanes.any() or stopped_after[lanes].any():
            return nothing
        pairs = [(_value(*first), _value(*second)) for first, second in zip(one.returned, two.returned, strict=True)]
        return Known(_judged(pairs, np.flatnonzero(lanes)), int(stopped.sum()), arguments)


def _compiled_as(node: _Node) -> _Key:
    """Return what a node needs compiled: an elementwise op as one on scalars."""
    flat = _flattened(*node.text, node.inputs)
    return _Key(*node.text, node.inputs, False) if flat is None else _Key(*flat, _signature(flat[1])[0], True)


def _function_of(name: str, key: _Key) -> str:
    """Return the text of a function that does an op on its arguments."""
    listed_operands, outputs = _signature(key.rest)
    own = len(listed_operands)
    names = [f"%o{k}" if k < own else f"%c{k - own + 1}" for k in range(len(key.inputs))]
    listed, given = ", ".join(outputs), ", ".join(map(": ".join, zip(names, key.inputs, strict=True)))
    operands = ", ".join(names[:own])
    returned = ", ".join(f"%r#{k}" if len(outputs) > 1 else "%r" for k in range(len(outputs)))
    bound = f"%r{f':{len(outputs)}' * (len(outputs) > 1)} = " * bool(outputs)
    return (
        f'"func.func"() <{{function_type = ({", ".join(key.inputs)}) -> ({listed}), sym_name = "{name}"}}> ({{\n'
        f"^bb0({given}):\n"
        f'  {bound}"{key.name}"({operands}){key.rest}\n  "func.return"({returned}) : ({listed}) -> ()\n}}) : () -> ()\n'
    )


def _judged(pairs: Sequence[tuple[Value, Value]], lanes: Any) -> Shared:
    """Judge outputs over some lanes."""
    equal = False
    for before, after in pairs:
        if before.shape != after.shape:
            return Shared.UNKNOWN
        if before is after:
            equal = True
        elif before.poison is None and after.poison is None and before.open is None and after.open is None:
            if not np.array_equal(before.bits[lanes], after.bits[lanes]):
                return Shared.UNKNOWN
            equal = True
        else:
            verdicts = judged(lanes_of(before, lanes), lanes_of(after, lanes)).verdicts
            if ((verdicts == Verdict.MISMATCH) | (verdicts == Verdict.APART)).any():
                return Shared.UNKNOWN
            equal = equal or bool((verdicts == Verdict.EQUAL).any())
    return Shared.EQUAL if equal else Shared.OPEN


def _signature_of(function: Operation) -> tuple[Sequence[ty.Type], Sequence[ty.Type]]:
    return tuple(argument_types(function)), tuple(result_types(function))


def _full(value: Value, lanes: int) -> Value:
    return value if over_lanes(value) else repeated(value, lanes)


def _without_constants(nodes: Sequence[_Node]) -> list[_Node]:
    return [node for node in nodes if node.text[0] != "arith.constant"]


def ends_of(nodes: Sequence[_Node]) -> tuple[Mask, Mask]:
    """Return the lanes that are undefined, and those that are unknown."""
    nothing = np.zeros(LANES, np.bool_)
    stopped = np.logical_or.reduce([nothing, *(node.stopped for node in nodes)])
    unknown = np.logical_or.reduce([nothing, *(node.unknown for node in nodes)])
    return stopped, unknown & ~stopped


# --- texts ------------------------------------------------------------------------------------------------------------


def _ops(lines: Sequence[str], indent: int) -> Iterator[tuple[str | None, str | None, str, str, str]]:
    """Yield the ops of a block: the names and the number of their results, their own name, their operands, and the rest
    of the text. Raises KeyError if a line is not the beginning of an op.

    ``indent``: the number of spaces before an op.
    """
    end = " " * indent + "})"
    start = 0
    while start < len(lines):
        first = start
        if lines[start].endswith("({"):
            start += 1
            while not lines[start].startswith(end):
                start += 1
        start += 1
        op = _OP.fullmatch(lines[first][indent:] if start == first + 1 else "\n".join(lines[first:start])[indent:])
        if op is None:
            raise KeyError(lines[first])
        name, count, what, operands, rest = op.groups()
        yield name, count, what, operands, rest


def _names(name: str | None, count: str | None) -> list[str]:
    """Return the names of the results of an op."""
    if name is None:
        return []
    return [name] if count is None else [f"{name}#{k}" for k in range(int(count))]


def _named(name: str | None, count: str | None, node: _Node) -> dict[str, _Ref]:
    return {each: (node, k) for k, each in enumerate(_names(name, count))}


def _type(ref: _Ref) -> str:
    node, number = ref
    return node.types[number]


def _without_aliases(head: str, body: str) -> str:
    aliases: dict[str, str] = {}
    for name, text in _ALIAS.findall(head):
        aliases[name] = _ALIASED.sub(lambda found: aliases.get(found[0], found[0]), text)
    return _ALIASED.sub(lambda found: aliases.get(found[0], found[0]), body)


def _canonical(text: str, env: dict[str, _Ref]) -> tuple[str, list[_Ref]]:
    """Return the text of an op with regions, whose values are numbered, and the values from outside."""
    names: dict[str, str] = {}
    outer: list[_Ref] = []

    def renamed(found: re.Match[str]) -> str:
        token = found[0]
        known = names.get(token)
        if known is not None:
            return known
        if token in env:
            outer.append(env[token])
            names[token] = f"%c{len(outer)}"
        else:
            base, mark, number = token.partition("#")
            if base not in names:
                names[base] = f"%i{len(names)}"
            names[token] = f"{names[base]}{mark}{number}"
        return names[token]

    return _VALUE.sub(renamed, text), outer


@lru_cache(maxsize=8192)
def _signature(rest: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the types of the operands and of the results of an op, from what follows its operands."""
    start = rest.rfind(" : (")
    inputs, _, outputs = rest[start + 3 :].partition(" -> ")
    return _split(inputs), _split(outputs)


def _split(listed: str) -> tuple[str, ...]:
    """Split a list of types, with or without parentheses."""
    if listed.startswith("("):
        listed = listed[1:-1]
    found, depth, start = [], 0, 0
    for place, char in enumerate(listed):
        if char in "<([{":
            depth += 1
        elif char in ")]}" or (char == ">" and listed[place - 1] != "-"):
            depth -= 1
        elif char == "," and not depth:
            found.append(listed[start:place].strip())
            start = place + 1
    last = listed[start:].strip()
    return (*found, last) if last else tuple(found)


@lru_cache(maxsize=65536)
def _flattened(name: str, rest: str, inputs: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the text of an elementwise op for scalars; None if the operands do not all have one static shape."""
    definition = default_registry().find(name)
    if definition is None or not (isinstance(definition.evaluate, Elementwise) or name in _CHOOSES) or "({" in rest:
        return None
    own, outputs = _signature(rest)
    found = [_SHAPED.fullmatch(type_) or _SCALAR.fullmatch(type_) for type_ in (*own, *outputs)]
    kept = [each for each in found if each is not None]
    if not own or own != inputs or len(kept) < len(found) or len({each[1] for each in kept}) != 1:
        return None
    if "0" in kept[0][1].split("x"):
        return None
    before, _, _ = rest.rpartition(" : (")
    scalars = [each[2] for each in kept]
    given, made = ", ".join(scalars[: len(own)]), ", ".join(scalars[len(own) :])
    return name, f"{before} : ({given}) -> {f'({made})' if len(outputs) > 1 else made}"


# --- values -----------------------------------------------------------------------------------------------------------


def _inputs(type_: ty.Type, domain: Domain, rng: random.Random) -> Value:
    """Return an argument for all lanes."""
    element, shape = ty.element_type(type_), ty.static_shape(type_)
    count = prod(shape)
    codes = [domain.draw(rng, together=True) for _ in range(SMALL_LANES * count)]
    corners = list(domain.corners if count > 1 else domain.corners[:CORNER_LANES])
    rng.shuffle(corners)
    codes += islice(cycle(corners), CORNER_LANES * count)
    codes += [domain.draw(rng) for _ in range(LANES * count - len(codes))]
    return Value(type_, ints_to_codes(codes, width_of(element), (LANES, *shape)))


def _value(node: _Node, number: int) -> Value:
    assert node.values is not None
    return node.values[number]


def _shape(node: _Node, number: int) -> tuple[int, ...]:
    return () if node.values is None else node.values[number].shape[1:]


def _joined(type_: ty.Type, values: Sequence[Value], flat: bool) -> Value:
    """Return values over lanes as one value over all their lanes. ``flat``: each element becomes a lane."""

    def put(arrays: list[Any]) -> Any:
        if not flat:
            return np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
        parts = [
            array.reshape(-1, *array.shape[len(value.shape) :]) for array, value in zip(arrays, values, strict=True)
        ]
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def marks(name: str) -> Any:
        found = [getattr(value, name) for value in values]
        known = next((each for each in found if each is not None), None)
        if known is None:
            return None
        return put(
            [
                np.zeros(value.shape, known.dtype) if each is None else each
                for value, each in zip(values, found, strict=True)
            ]
        )

    poison = marks("poison")
    held = type_ if flat else values[0].type
    if poison is not None:  # the origins of several values: `validation.compare` finds them again
        poison = (poison != 0).astype(np.uint16)
    return Value(held, put([value.bits for value in values]), poison, marks("open"))


def _elements(step: ElementwiseStep, operands: Sequence[Value], count: int) -> tuple[list[Value], Mask]:
    """Return the results of an elementwise op for scalars over lanes, and the lanes that are undefined."""
    found = apply(step.kernel, tuple(value.bits for value in operands), [value.poison for value in operands], (count,))
    stopped, spoiled = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    for fault, mask in found.faults:
        (spoiled if fault.kind is FaultKind.POISON else stopped)[...] |= np.broadcast_to(mask, (count,))
    poison = found.poison
    if spoiled.any():
        poison = spoiled.astype(np.uint16) if poison is None else (spoiled | (poison != 0)).astype(np.uint16)
    opened = step.opened(tuple(operands), found.operands, found.results, (count,))
    kept = [bits if poison is None else zeroed(bits, poison) for bits in found.results]
    return [Value(type_, bits, poison, opened) for type_, bits in zip(step.result_types, kept, strict=True)], stopped


def _part(value: Value, lanes: slice, shape: tuple[int, ...] | None, operands: Sequence[_Ref]) -> Value:
    """Return the lanes of one op. ``shape``: that of its elements, if these were lanes."""

    def cut(array: Any) -> Any:
        if array is None:
            return None
        part = array[lanes]
        return part if shape is None else part.reshape(LANES, *shape, *part.shape[1:])

    type_ = value.type
    if shape is not None:
        like = _value(*operands[0]).type
        type_ = ty.with_element(like, ty.element_type(type_))
    return Value(type_, cut(value.bits), cut(value.poison), cut(value.open), value.origins)
