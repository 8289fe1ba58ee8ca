"""Copies of programs with some numbers in another format, or some ops in another rounding mode.

If the new format has all numbers of an op's own format, its result is *held* in the new format: the op runs in it, and
the result stays in it until another op rounds. So the copy differs from the program only in the rounding of the chosen
ops: an op that reads the result rounds to its own format, as before. To make this possible, a named structured op that
reads it becomes linalg.generic, and an op on whole vectors takes its operands in their own format. In any other format
the op runs on converted operands, and its result is converted back at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from halfulp.conformance.whole_programs.rewrite import copied, definition_of
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.declare.operands import SEGMENTS, add_defaults
from halfulp.interp.dialects.linalg.declaring import ITERATOR_TYPE
from halfulp.interp.dialects.structured.structure import inputs_and_inits, iterators_of, maps_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Block, Module, Operation, OpResult, SSAValue
from halfulp.interp.verifier import verify
from halfulp.sensitivities import flow as flows
from halfulp.sensitivities.flow import uses_of

MODE = "roundingmode"
GENERIC = "linalg.generic"


def has_all_numbers(wide: FloatFormat, narrow: FloatFormat) -> bool:
    """Tell whether a format has all finite numbers of another format, and further numbers."""
    least = (wide.emin - wide.mantissa_bits, narrow.emin - narrow.mantissa_bits)
    return (
        wide is not narrow
        and wide.precision >= narrow.precision
        and wide.emax >= narrow.emax
        and least[0] <= least[1]
        and wide.max_value >= narrow.max_value
        and (wide.signed or not narrow.signed)
    )


@dataclass(frozen=True)
class Change:
    """The change that a copy of a program makes.

    ``ops``: the ops that run in ``format``. ``stored``: the values that are rounded to ``format`` as soon as they are
    computed. ``modes``: the rounding modes of ops, by their numbers in MLIR.
    """

    format: ty.FloatType | None = None
    ops: frozenset[Operation] = frozenset()
    stored: frozenset[SSAValue] = frozenset()
    modes: Mapping[Operation, int] = field(default_factory=dict)


def changed(module: Module, flow: flows.Flow, change: Change) -> Module:
    """Return a verified copy of a program with a change.

    Raises Unsupported and VerifyError if there is no valid program with that change.
    """
    return _Copy(module, flow, change).made()


class _Copy:
    """A copy of a program that is being changed. The values and ops of its plan are those of the original program."""

    def __init__(self, module: Module, flow: flows.Flow, change: Change) -> None:
        self._module, self._flow, self._change = module, flow, change
        self._values: dict[SSAValue, SSAValue] = {}
        self._root = copied(module.operation, self._values)
        self._twins = dict(zip(module.walk(), self._root.walk(), strict=True))
        for original, twin in self._values.items():
            twin.name = original.name
        self._instead: dict[SSAValue, SSAValue] = {}
        self._before: dict[Operation, list[Operation]] = {}
        self._after: dict[Operation, list[Operation]] = {}
        self._first: dict[Block, list[Operation]] = {}
        self._removed: set[Operation] = set()
        self._required: dict[flows.Use, ty.FloatType] = {}
        self._held: set[SSAValue] = set()
        self._local: set[Operation] = set()

    def made(self) -> Module:
        made = Module(self._root, self._module.source)
        made.resources, made.dialect_versions = self._module.resources, self._module.dialect_versions
        for op, mode in self._change.modes.items():
            self._twins[op].properties[MODE] = at.IntegerAttr(mode, ty.I32)
        if self._change.format is not None:
            self._plan(self._change.format)
            readers = [op for op in self._flow.ops if self._is_named_reader(op)]
            if readers:
                return self._written_out(made, readers)
            self._retype(self._change.format)
            for op in self._flow.ops:
                if flows.converts(op):
                    self._convert_again(op)
                else:
                    self._convert_operands(op)
            self._resolve()
            self._arrange()
        verify(made)
        return made

    # --- the plan ---

    def _plan(self, format: ty.FloatType) -> None:
        """Choose the values that are held in the format, and the ops that run in it and convert their results back."""
        chosen: list[SSAValue] = []
        for op in self._change.ops:
            if has_all_numbers(format.format, flows.own_format(op).format):
                chosen += flows.written(op)
            else:
                self._local.add(op)
        fixed = next((value for value in chosen if value in self._flow.fixed), None)
        if fixed is not None or any(flows.is_memory(value) for op in self._local for value in op.operands):
            raise Unsupported("it writes into memory whose type cannot change")
        self._held = self._flow.held(chosen, lambda value: self._is_wider(format, value))

    def _is_named_reader(self, op: Operation) -> bool:
        """Tell whether an op has a body that follows from its name and types, and reads a number that is held in
        another format.
        """
        own = op not in self._change.ops and flows.has_hidden_body(op) and flows.rounds(op)
        return own and not self._held.isdisjoint(op.operands)

    def _written_out(self, copy: Module, readers: Sequence[Operation]) -> Module:
        """Replace the ops ``readers`` by generics, whose bodies are in the text, so that each op in a body can read a
        held number. Then make the change, and return the changed program.
        """
        for op in readers:
            twin, (inputs, inits) = self._twins[op], inputs_and_inits(op)
            iterators = tuple([ITERATOR_TYPE.attribute(each) for each in iterators_of(op)])
            twin.name, twin.definition = GENERIC, definition_of(GENERIC)
            twin.properties = {
                "indexing_maps": at.ArrayAttr(maps_of(op)),
                "iterator_types": at.ArrayAttr(iterators),
                SEGMENTS: at.DenseArrayAttr(ty.I32, (len(inputs), len(inits))),
            }
            twin.raw_properties = None
            twin.attributes.pop("linalg.memoized_indexing_maps", None)
        ops = frozenset(self._twins[op] for op in self._change.ops)
        stored = frozenset(self._values[value] for value in self._change.stored)
        return changed(copy, flows.Flow(copy, flows.rounds), replace(self._change, ops=ops, stored=stored))

    @staticmethod
    def _is_wider(format: ty.FloatType, value: SSAValue) -> bool:
        own = flows.format_of(value)
        return own is not None and has_all_numbers(format.format, own.format)

    def _retype(self, format: ty.FloatType) -> None:
        for value in self._held:
            self._set_format(self._values[value], format)
        for value in self._change.stored:
            self._store(value, format)
        for tie in self._flow.ties:
            held = not self._held.isdisjoint(tie.values)
            for use in tie.uses:
                if held:
                    self._required[use] = format
        for op in self._flow.ops:
            if flows.converts(op):
                continue
            if flows.rounds(op) or (flows.is_scalar_op(op) and not flows.is_tied(op)):
                self._run_in(op, self._format_to_run(op, format))
            elif flows.has_hidden_body(op) and not self._held.isdisjoint([*op.results, *op.operands]):
                self._set_body(op, flows.own_format(op), format)

    def _format_to_run(self, op: Operation, format: ty.FloatType) -> ty.FloatType:
        """Return the format in which an op runs: its own format, unless the op was chosen or rounds a number that is
        held.
        """
        own = flows.own_format(op)
        taken = flows.rounds_once(op) and has_all_numbers(format.format, own.format)
        return format if op in self._change.ops or (taken and not self._held.isdisjoint(op.operands)) else own

    def _run_in(self, op: Operation, running: ty.FloatType) -> None:
        own, twin = flows.own_format(op), self._twins[op]
        for index, value in enumerate(op.operands):
            if flows.format_of(value) == own and not flows.is_memory(value):
                self._required[flows.Use(op, index)] = running
            elif value in self._held and running != own:
                self._required[flows.Use(op, index)] = ty.element_type(self._values[value].type)  # type: ignore[assignment]
        if running == own:
            return
        self._set_body(op, own, running)
        mode = twin.properties.get(MODE)
        for result, made in zip(op.results, twin.results, strict=True):
            if flows.format_of(result) == own and result not in self._held:
                self._set_format(made, running)
                self._instead[made] = self._converted(made, own, self._after.setdefault(twin, []).append, twin, mode)

    def _set_body(self, op: Operation, own: ty.FloatType, running: ty.FloatType) -> None:
        """Make the body of a named op run in another format, on elements of the types that its operands get."""
        if not flows.has_hidden_body(op):
            return
        block = self._twins[op].regions[0].blocks[0]
        for index, argument in enumerate(block.arguments):
            taken = self._required.get(flows.Use(op, index)) or flows.format_of(self._values[op.operands[index]])
            if taken is not None:
                self._set_format(argument, taken)
        for inner in block.operations:
            for result in inner.results:
                if flows.format_of(result) == own:
                    self._set_format(result, running)
            spelled = inner.properties.get("value")
            if isinstance(spelled, at.FloatAttr) and spelled.type == own:
                code = scalar.convert(own.format, running.format, spelled.code).code
                inner.properties["value"] = at.FloatAttr(code, running)
            if inner.name in flows.CONVERSIONS:
                (operand,), (result,), target = inner.operands, inner.results, flows.format_of(inner.results[0])
                assert target is not None
                put = self._before.setdefault(inner, []).append
                self._instead[result] = self._converted(operand, target, put, inner)
                self._removed.add(inner)

    def _store(self, value: SSAValue, format: ty.FloatType) -> None:
        """Convert a value to the format and back, directly after it is computed."""
        twin, own = self._values[value], flows.format_of(value)
        assert own is not None
        if isinstance(twin, OpResult):
            put, place = self._after.setdefault(twin.owner, []).append, twin.owner
        else:
            block = twin.block  # type: ignore[attr-defined]
            put, place = self._first.setdefault(block, []).append, block.operations[0]
        self._instead[twin] = self._converted(self._converted(twin, format, put, place), own, put, place)

    # --- the operands ---

    def _convert_operands(self, op: Operation) -> None:
        twin = self._twins[op]
        made: dict[tuple[SSAValue, ty.FloatType], SSAValue] = {}
        for use in uses_of(op):
            own = flows.format_of(use.value)
            if own is None or flows.is_memory(use.value):
                continue
            wanted = self._required.get(use, own)
            given = self._resolved(self._values[use.value])
            if flows.format_of(given) != wanted:
                if (given, wanted) not in made:
                    put = self._before.setdefault(twin, []).append
                    made[given, wanted] = self._converted(given, wanted, put, twin)
                flows.Use(twin, use.index, use.successor).operands[use.index] = made[given, wanted]

    def _convert_again(self, op: Operation) -> None:
        """Replace a conversion of a held number by the conversion that is still needed, with its rounding mode if it
        rounds.
        """
        twin, (operand,), (result,) = self._twins[op], op.operands, op.results
        own, given = flows.own_format(op), self._resolved(self._values[operand])
        target = flows.format_of(twin.results[0])
        if target is None or flows.is_memory(operand):
            return
        local = op in self._local
        if not local and flows.format_of(given) == flows.format_of(operand) and result not in self._held:
            return
        put = self._before.setdefault(twin, []).append
        mode = twin.properties.get(MODE)
        made = self._converted(given, self._change.format if local and self._change.format else target, put, twin, mode)
        if local:
            made = self._converted(made, own, put, twin)
        self._instead[twin.results[0]] = made
        self._removed.add(twin)

    def _converted(
        self,
        value: SSAValue,
        format: ty.FloatType,
        put: Callable[[Operation], None],
        place: Operation,
        mode: at.Attribute | None = None,
    ) -> SSAValue:
        """Return a value in another format: ``put`` takes the ops that convert it."""
        own = flows.format_of(value)
        assert own is not None
        if own == format:
            return value
        if own.format.bits == format.format.bits:
            wide = ty.F("f32") if own.format.bits < 32 else ty.F("f64")
            return self._converted(self._converted(value, wide, put, place), format, put, place, mode)
        if isinstance(value, OpResult) and value.owner.name == "tensor.empty":
            made = self._op("tensor.empty", value.owner.operands, value, format, place)
        else:
            name = "arith.extf" if own.format.bits < format.format.bits else "arith.truncf"
            made = self._op(name, [value], value, format, place)
            if mode is not None and name == "arith.truncf":
                made.properties[MODE] = mode
        put(made)
        return made.results[0]

    @staticmethod
    def _op(name: str, operands: list[SSAValue], like: SSAValue, format: ty.FloatType, place: Operation) -> Operation:
        definition = definition_of(name)
        made = Operation(name, definition, list(operands), [ty.with_element(like.type, format)], location=place.place)
        add_defaults(definition, made.properties)
        return made

    @staticmethod
    def _set_format(value: SSAValue, format: ty.FloatType) -> None:
        value.type = ty.with_element(value.type, format)

    # --- the end ---

    def _resolved(self, value: SSAValue) -> SSAValue:
        while value in self._instead:
            value = self._instead[value]
        return value

    def _resolve(self) -> None:
        """Replace values in all operands, except in the ops that compute the replacements."""
        making = {op for ops in (*self._after.values(), *self._first.values()) for op in ops}
        for op in self._all():
            if op not in making:
                for use in uses_of(op):
                    use.operands[use.index] = self._resolved(use.value)

    def _all(self) -> Iterator[Operation]:
        yield from self._twins.values()
        for places in (self._before, self._after, self._first):
            for ops in places.values():
                yield from ops

    def _arrange(self) -> None:
        """Insert the new ops into their blocks, and remove the replaced ops."""
        for op in list(self._twins.values()):
            for region in op.regions:
                for block in region.blocks:
                    found = [*self._first.get(block, ())]
                    for inner in block.operations:
                        found += self._before.get(inner, ())
                        found += [] if inner in self._removed else [inner]
                        found += self._after.get(inner, ())
                    for inner in found:
                        inner.parent = block
                    block.operations = found
