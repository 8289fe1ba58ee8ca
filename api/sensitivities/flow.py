"""Find where a program passes numbers on without rounding them. The values there, and their uses, have one format.

For example, a loop gives the value that it carries one type, and the result of a reshape has the type of its operand. A
table has these ties, with a row for each kind of op. An op without a row has no ties.

Other ops round their results. The last part says which ops these are, and why the format of some of them cannot be
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from halfulp.interp.declare.declarations import Trait
from halfulp.interp.dialects.structured.structure import REDUCTION, STRUCTURES, inputs_and_inits, iterators_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, Module, Operation, SSAValue
from halfulp.interp.run.evaluators import Elementwise


@dataclass(frozen=True, slots=True)
class Use:
    """An operand of an op. ``successor``: the number of the branch target that gets it; None for a plain operand."""

    op: Operation
    index: int
    successor: int | None = None

    @property
    def value(self) -> SSAValue:
        """The value that is used."""
        return self.operands[self.index]

    @property
    def operands(self) -> list[SSAValue]:
        """The list of operands that contains this one."""
        return self.op.operands if self.successor is None else self.op.successors[self.successor][1]


def uses_of(op: Operation) -> Iterator[Use]:
    """Yield the uses of values by an op: its operands, then the values that its branches pass."""
    for index in range(len(op.operands)):
        yield Use(op, index)
    for which, (_, passed) in enumerate(op.successors):
        for index in range(len(passed)):
            yield Use(op, index, which)


@dataclass(eq=False, slots=True)
class Tie:
    """Values that must have the same element type, and the uses through which numbers come into them. At these uses the
    numbers can be converted.
    """

    values: list[SSAValue] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)

    def take(self, op: Operation, index: int) -> None:
        """Add an operand of an op: as a use, or, if it is memory, as a value. Memory cannot be converted
        for one use.
        """
        if is_memory(op.operands[index]):
            self.values.append(op.operands[index])
        else:
            self.uses.append(Use(op, index))


def format_of(value: SSAValue) -> ty.FloatType | None:
    """Return the format of the elements of a value; None if they are not floats."""
    element = ty.element_type(value.type)
    return element if isinstance(element, ty.FloatType) else None


def is_memory(value: SSAValue) -> bool:
    """Tell whether a value is a memref of floats."""
    return isinstance(value.type, ty.MemRefType) and format_of(value) is not None


def _named(dialect: str, names: str) -> set[str]:
    return {f"{dialect}.{name}" for name in names.split()}


_POOLED = {
    f"linalg.pooling_{layout}_{kind}"
    for layout in ("nhwc", "nwc", "nchw", "ncw", "ndhwc")
    for kind in ("max", "max_unsigned", "min", "min_unsigned")
}
MOVES = frozenset(
    _named("arith", "extf negf maximumf minimumf maxnumf minnumf maximumnumf minimumnumf select")
    | _named("math", "absf copysign clampf ceil floor round roundeven trunc")
    | _named("tensor", "splat from_elements extract insert cast expand_shape collapse_shape extract_slice insert_slice")
    | _named("tensor", "concat gather scatter reshape pad generate")
    | _named("vector", "extract insert from_elements to_elements broadcast shape_cast transpose shuffle interleave")
    | _named("vector", "deinterleave extract_strided_slice insert_strided_slice load store maskedload maskedstore")
    | _named("vector", "expandload compressstore gather scatter transfer_read transfer_write")
    | _named("memref", "load store copy cast memory_space_cast subview expand_shape collapse_shape transpose reshape")
    | _named("memref", "reinterpret_cast assume_alignment")
    | _named("affine", "load store vector_load vector_store")
    | _named("bufferization", "clone to_buffer to_tensor materialize_in_destination")
    | _named("linalg", "fill copy abs ceil floor negf round max min select transpose broadcast pack unpack")
    | _named("stablehlo", "abs negate sign floor ceil round_nearest_afz round_nearest_even maximum minimum select")
    | _named("stablehlo", "clamp reshape broadcast_in_dim transpose slice concatenate pad reverse dynamic_slice gather")
    | _named("stablehlo", "dynamic_update_slice dynamic_reshape dynamic_broadcast_in_dim real_dynamic_slice")
    | _named("stablehlo", "dynamic_gather dynamic_pad optimization_barrier")
    | _POOLED
)
"""Ops that never round: their operands and results have one format."""
SOURCES = frozenset(
    _named("memref", "alloc alloca") | _named("tensor", "empty") | _named("bufferization", "alloc_tensor")
)
"""Ops that allocate memory or tensors for numbers of any format."""
_NEUTRAL = frozenset(_named("memref", "dealloc dim rank prefetch") | _named("bufferization", "dealloc_tensor"))
"""Ops that take memory of any format and do not read its numbers."""
_LINALG = frozenset(_named("linalg", "generic map reduce"))
EXPLICIT = _LINALG | {"stablehlo.reduce"}
"""Structured ops whose bodies are in the text. The body of any other structured op follows from its name."""


def has_hidden_body(op: Operation) -> bool:
    """Tell whether an op has a body that its name determines."""
    return op.name in STRUCTURES and op.name not in EXPLICIT


def is_in_hidden_body(op: Operation) -> bool:
    """Tell whether an op is part of a body that the name of an op determines."""
    around = op.parent_op
    return around is not None and has_hidden_body(around)


# --- ties of an op ----------------------------------------------------------------------------------------------------


def _ends(op: Operation) -> Iterator[Operation]:
    """Yield the terminators of the blocks inside an op."""
    for block in op.blocks:
        last = block.operations[-1] if block.operations else None
        if last is not None and last.definition is not None and Trait.TERMINATOR in last.definition.traits:
            yield last


def _block(op: Operation, region: int = 0) -> Block:
    return op.regions[region].blocks[0]


def _yielded(op: Operation) -> Iterator[Tie]:
    """Yield a tie of each result with the values that the regions yield for it."""
    for number, result in enumerate(op.results):
        yield Tie([result], [Use(end, number) for end in _ends(op) if len(end.operands) == len(op.results)])


def _loop(op: Operation) -> Iterator[Tie]:
    """Yield a tie for each value that a loop carries: the argument of its body, its result, the first value and the
    yielded value.
    """
    first, carried = len(op.operands) - len(op.results), _block(op).arguments
    for number, result in enumerate(op.results):
        tie = Tie([result, carried[number + len(carried) - len(op.results)]], [Use(end, number) for end in _ends(op)])
        tie.take(op, first + number)
        yield tie


def _while(op: Operation) -> Iterator[Tie]:
    before, after = _block(op), _block(op, 1)
    condition, end = before.operations[-1], after.operations[-1]
    for number, argument in enumerate(before.arguments):
        tie = Tie([argument], [Use(end, number)])
        tie.take(op, number)
        yield tie
    for number, (argument, result) in enumerate(zip(after.arguments, op.results, strict=True)):
        yield Tie([argument, result], [Use(condition, number + 1)])


def _parallel(op: Operation) -> Iterator[Tie]:
    (reduce,) = _ends(op)
    first = len(op.operands) - len(op.results)
    for number, result in enumerate(op.results):
        block = _block(reduce, number)
        uses = [Use(op, first + number), Use(reduce, number), Use(block.operations[-1], 0)]
        yield Tie([result, *block.arguments], uses)


def _forall(op: Operation) -> Iterator[Tie]:
    first, arguments = len(op.operands) - len(op.results), _block(op).arguments
    for number, result in enumerate(op.results):
        yield Tie([result, arguments[number + len(arguments) - len(op.results)]], [Use(op, first + number)])


def _insertion(op: Operation) -> Iterator[Tie]:
    """Yield a tie of the value that is inserted into a shared result with that result."""
    yield Tie([op.operands[1]], [Use(op, 0)])


def _body(op: Operation) -> Iterator[Tie]:
    """Yield ties of the operands of a structured op with the arguments of its body, and of the yielded values with the
    results.
    """
    inputs, inits = inputs_and_inits(op)
    block = _block(op)
    for number in range(len(inputs) + len(inits)):
        tie = Tie([block.arguments[number]])
        tie.take(op, number)
        out = number - len(inputs)
        if out >= 0:
            tie.values += op.results[out : out + 1]
            tie.uses.append(Use(block.operations[-1], out))
        yield tie


def _reduction(op: Operation) -> Iterator[Tie]:
    """Yield ties of the inputs and initial values of a reduction with the arguments and results of its body, and with
    its results.
    """
    block, count = _block(op), len(op.results)
    for number, result in enumerate(op.results):
        uses = [Use(op, number), Use(op, count + number), Use(block.operations[-1], number)]
        yield Tie([result, block.arguments[number], block.arguments[count + number]], uses)


def _repeated(op: Operation) -> Iterator[Tie]:
    """Yield a tie for each value that a loop carries: the arguments of both regions, the result, and the first and the
    returned value.
    """
    condition, body = _block(op), _block(op, 1)
    for number, result in enumerate(op.results):
        values = [result, condition.arguments[number], body.arguments[number]]
        yield Tie(values, [Use(op, number), Use(body.operations[-1], number)])


def _kept(op: Operation) -> Iterator[Tie]:
    """Yield a tie of the result of a conversion with its operand if both have one format."""
    if _keeps_format(op):
        yield from _barrier(op)


def _keeps_format(op: Operation) -> bool:
    own = format_of(op.operands[0])
    return own is not None and own == format_of(op.results[0])


def _barrier(op: Operation) -> Iterator[Tie]:
    for number, result in enumerate(op.results):
        yield Tie([result], [Use(op, number)])


def _moved(op: Operation) -> Iterator[Tie]:
    """Yield one tie of all floats among the operands and results of an op, and of the floats that its region yields."""
    tie = Tie([result for result in op.results if format_of(result)])
    for number, operand in enumerate(op.operands):
        if format_of(operand):
            tie.take(op, number)
    if not has_hidden_body(op):
        tie.uses += [Use(end, 0) for end in _ends(op) if end.operands and format_of(end.operands[0])]
    if tie.values or tie.uses:
        yield tie


def _passed(op: Operation) -> Iterator[Tie]:
    """Yield ties of the values that a branch passes with the arguments of its targets."""
    for which, (block, passed) in enumerate(op.successors):
        for number, argument in enumerate(block.arguments[: len(passed)]):
            yield Tie([argument], [Use(op, number, which)])


_TIES: Mapping[str, Callable[[Operation], Iterator[Tie]]] = {
    **dict.fromkeys(("scf.for", "affine.for"), _loop),
    **dict.fromkeys(("scf.if", "scf.execute_region", "scf.index_switch", "affine.if"), _yielded),
    "scf.while": _while,
    "scf.parallel": _parallel,
    "scf.forall": _forall,
    "tensor.parallel_insert_slice": _insertion,
    **dict.fromkeys(("cf.br", "cf.cond_br", "cf.switch"), _passed),
    **dict.fromkeys(_LINALG, _body),
    **dict.fromkeys(MOVES, _moved),
    **dict.fromkeys(("stablehlo.if", "stablehlo.case"), _yielded),
    "stablehlo.while": _repeated,
    "stablehlo.reduce": _reduction,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.convert": _kept,
}


def is_tied(op: Operation) -> bool:
    """Tell whether an op passes on numbers without rounding them."""
    return op.name in _TIES


def ties_of(op: Operation) -> Iterator[Tie]:
    """Yield the ties of an op whose values are floats."""
    for tie in _TIES[op.name](op) if op.name in _TIES else ():
        if all(format_of(each) for each in (*tie.values, *(use.value for use in tie.uses))):
            yield tie


# --- ties of a program ------------------------------------------------------------------------------------------------


class Flow:
    """The ties of a program, and the memory whose type is fixed. ``computing``: tells whether an op rounds. ``ops``:
    all ops, except those in bodies that the name of an op determines.
    """

    def __init__(self, module: Module, computing: Callable[[Operation], bool]) -> None:
        self.ops = [op for op in module.walk() if not is_in_hidden_body(op)]
        self.ties: list[Tie] = []
        self._by_value: dict[SSAValue, list[Tie]] = {}
        self._computing = [op for op in self.ops if computing(op)]
        for op in self.ops:
            self.ties += ties_of(op)
        for op in self._computing:
            memory = [value for value in op.operands if is_memory(value)]
            self.ties += [Tie(memory)] if memory else []
        for tie in self.ties:
            for value in (*tie.values, *(use.value for use in tie.uses)):
                self._by_value.setdefault(value, []).append(tie)
        self.fixed = self._fixed_memory()

    def _fixed_memory(self) -> set[SSAValue]:
        """Return the memory whose type cannot change: memory of arguments, and memory that other ops use."""
        tied = {value for tie in self.ties for value in tie.values}
        given = {result for op in self.ops if op.name in SOURCES or is_tied(op) for result in op.results}
        fixed = {value for value in tied if is_memory(value) and value not in given and not self._is_argument(value)}
        known = set(self._computing)
        for op in self.ops:
            if op.name not in _NEUTRAL and not is_tied(op) and op not in known:
                fixed.update(value for value in op.operands if is_memory(value))
        return self._spread(fixed)

    def _is_argument(self, value: SSAValue) -> bool:
        """Tell whether a value is an argument of a block inside a function, so that its type may change."""
        block = getattr(value, "block", None)
        around = None if block is None or block.parent is None else block.parent.parent
        return around is not None and is_tied(around)

    def _spread(self, fixed: set[SSAValue]) -> set[SSAValue]:
        waiting = list(fixed)
        while waiting:
            for tie in self._by_value.get(waiting.pop(), ()):
                new = [value for value in tie.values if value not in fixed]
                if any(value in fixed for value in tie.values):
                    fixed.update(new)
                    waiting += new
        return fixed

    def held(self, chosen: Iterable[SSAValue], wider: Callable[[SSAValue], bool]) -> set[SSAValue]:
        """Return the values that get a format if the values ``chosen`` get it: these values, and the values to which
        their numbers are passed without rounding. ``wider``: tells whether that format has more numbers than the format
        of a value.
        """
        found = set(chosen)
        waiting = list(found)
        while waiting:
            for tie in self._by_value.get(waiting.pop(), ()):
                new = [value for value in tie.values if value not in found]
                if all(wider(value) and value not in self.fixed for value in tie.values):
                    found.update(new)
                    waiting += new
        return found

    def cycles(self) -> list[list[SSAValue]]:
        """Return the cycles of values: values that depend on themselves, from one iteration of a loop to the next."""
        edges: dict[SSAValue, list[SSAValue]] = {}
        for tie in self.ties:
            for use in tie.uses:
                edges.setdefault(use.value, []).extend(tie.values)
            memory = [value for value in tie.values if is_memory(value)]
            for one in memory:
                edges.setdefault(one, []).extend(value for value in tie.values if value is not one)
        for op in self._computing:
            for value in op.operands:
                if format_of(value):
                    edges.setdefault(value, []).extend(result for result in op.results if format_of(result))
        return _components(edges)


def _components(edges: Mapping[SSAValue, Sequence[SSAValue]]) -> list[list[SSAValue]]:
    """Return the strongly connected components of more than one node (Tarjan's algorithm, with its own stack)."""
    number: dict[SSAValue, int] = {}
    low: dict[SSAValue, int] = {}
    open_: list[SSAValue] = []
    is_open: set[SSAValue] = set()
    found: list[list[SSAValue]] = []
    for start in edges:
        if start in number:
            continue
        number[start] = low[start] = len(number)
        open_.append(start)
        is_open.add(start)
        path = [(start, iter(edges[start]))]
        while path:
            node, following = path[-1]
            target = next(following, None)
            if target is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    first = open_.index(node)
                    component, open_[first:] = open_[first:], []
                    is_open.difference_update(component)
                    found += [component] if len(component) > 1 else []
            elif target not in number:
                number[target] = low[target] = len(number)
                open_.append(target)
                is_open.add(target)
                path.append((target, iter(edges.get(target, ()))))
            elif target in is_open:
                low[node] = min(low[node], number[target])
    return found


# --- ops that round ---------------------------------------------------------------------------------------------------

CONSTANTS = frozenset({"arith.constant", "stablehlo.constant"})
CONVERSIONS = frozenset({"arith.extf", "arith.truncf", "arith.convertf"})
"""Ops that only convert floats to another format."""


def converts(op: Operation) -> bool:
    """Tell whether an op converts a float to another format."""
    floats = op.name == "stablehlo.convert" and all(map(format_of, (*op.operands, *op.results)))
    return (floats and not _keeps_format(op)) or op.name in CONVERSIONS


_OF_ELEMENTS = frozenset({"arith", "math", "stablehlo", "chlo"})
"""The dialects whose ops on elements round once."""
_OTHER_FORMS = frozenset(
    {
        *("arith.bitcast", "arith.scaling_extf", "arith.scaling_truncf", "arith.flush_denormals"),
        *("stablehlo.reduce_precision", "stablehlo.real", "stablehlo.imag", "stablehlo.complex"),
    }
)
"""Elementwise ops whose meaning depends on the formats that they have."""
_COMPUTING = frozenset(
    {
        *(f"vector.{name}" for name in ("fma", "reduction", "multi_reduction", "scan", "contract", "outerproduct")),
        *("linalg.softmax", "stablehlo.dot_general", "stablehlo.convolution"),
    }
)
"""Ops on whole vectors and tensors that compute floats, besides structured ones."""
_REDUCING = frozenset(f"vector.{name}" for name in ("reduction", "multi_reduction", "scan", "contract"))
_EXTREMA = ("max", "min")
_EXACT = frozenset(
    {
        *("arith.constant", "arith.bitcast", "vector.constant_mask", "ub.poison", "memref.get_global", "memref.alloc"),
        *("stablehlo.constant", "stablehlo.bitcast_convert", "stablehlo.iota", "stablehlo.dynamic_iota"),
        *("vector.bitcast", "tensor.bitcast", "memref.view", "memref.alloca_scope", "vector.mask", "vector.type_cast"),
    }
)
"""Ops that have floats as results but do not compute them."""
_REASONS: Mapping[str, str] = {
    "arith.scaling_extf": "block scaling is a step of its own between two formats",
    "arith.scaling_truncf": "block scaling is a step of its own between two formats",
    "arith.flush_denormals": "it is about the subnormals of its own format",
    "iree_codegen.inner_tiled": "its kind names the formats of a tile operation; give models to change how it adds",
}


def rounds(op: Operation) -> bool:
    """Tell whether an op computes floats and rounds them, so that it can also run in another format."""
    if op.name in MOVES or is_in_hidden_body(op):
        return False
    if op.name in _COMPUTING or has_hidden_body(op):
        return bool(written(op)) and not _takes_extreme(op)
    return is_scalar_op(op) and any(format_of(result) for result in op.results)


def is_scalar_op(op: Operation) -> bool:
    """Tell whether an op does the same for each element of its floats, in any format."""
    definition = op.definition
    if op.name == "stablehlo.convert" and _keeps_format(op):
        return False
    if definition is None or op.name in _OTHER_FORMS or op.name.partition(".")[0] not in _OF_ELEMENTS:
        return False
    floats = any(format_of(value) for value in (*op.operands, *op.results))
    return floats and isinstance(definition.evaluate, Elementwise)


def rounds_once(op: Operation) -> bool:
    """Tell whether an op rounds each element of its results once, so that it can take operands of a wider format."""
    return is_scalar_op(op) or op.name == "vector.fma"


def takes_own_format(op: Operation) -> bool:
    """Tell whether an op rounds several times, and cannot take operands that are wider than its format."""
    return rounds(op) and not rounds_once(op) and not has_hidden_body(op)


def decides(op: Operation) -> bool:
    """Tell whether an op makes integers from floats. If these floats change, the run may take another branch."""
    return is_scalar_op(op) and not any(format_of(result) for result in op.results)


def adds_up(op: Operation) -> bool:
    """Tell whether an op has its own accumulator for a sum."""
    return op.name in _REDUCING or (has_hidden_body(op) and REDUCTION in iterators_of(op))


def written(op: Operation) -> list[SSAValue]:
    """Return the floats that an op computes: its results, or the memory that a structured op writes."""
    results: list[SSAValue] = [result for result in op.results if format_of(result)]
    if results or op.name not in STRUCTURES:
        return results
    return [value for value in op.operands[-1:] if is_memory(value)]


def own_format(op: Operation) -> ty.FloatType:
    """Return the format of the floats that an op computes; if it computes none, the format of its operands."""
    found = [format_of(value) for value in (*written(op), *op.operands)]
    return next(each for each in found if each is not None)


def why_not(op: Operation, module: Module) -> str | None:
    """Return why the format of an op that computes numbers cannot be changed; None if it can, or if there is nothing to
    change.
    """
    if is_in_hidden_body(op) or rounds(op) or is_tied(op) or op.name in SOURCES or op.name in _EXACT:
        return None
    if op.name == "func.call":
        callee = op.properties.get("callee")
        target = module.lookup(callee) if callee is not None else None  # type: ignore[arg-type]
        known = target is not None and target.regions and target.regions[0].blocks
        given = any(format_of(result) for result in op.results)
        return None if known or not given else "the function has no body"
    if any(isinstance(ty.element_type(result.type), ty.ComplexType) for result in op.results):
        return "complex numbers keep their format"
    if not any(format_of(result) for result in op.results):
        return _REASONS.get(op.name)
    return _REASONS.get(op.name, "it has no form in another format that is known here")


def _takes_extreme(op: Operation) -> bool:
    """Tell whether a reduction of a vector only chooses one of its operands, as a maximum does."""
    kind = op.properties.get("kind")
    return kind is not None and str(kind).partition("<")[2].startswith(_EXTREMA)
