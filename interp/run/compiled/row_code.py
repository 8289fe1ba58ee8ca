"""A function of scalars with one loop as code for rows of lanes, which all make the same trip at once.

Lanes whose loop has ended compute on, and what they compute is not used. So no lane branches, and LLVM uses vector
instructions. Lanes that refuse stop, and so do those that are left when most of a row has waited for long.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from halfulp.fp_formats.codes import Codes, Mask
from halfulp.fp_formats.paths import llvm, threads
from halfulp.fp_formats.paths.emitter import Emitter, Tables, natural
from halfulp.fp_formats.paths.words import F64, Held, Word
from halfulp.interp.ir.operations import Block, Operation, SSAValue
from halfulp.interp.run.compiled.covering import NotCompiled
from halfulp.interp.run.compiled.functions import width_of_scalar
from halfulp.interp.run.compiled.lane_code import PART
from halfulp.interp.run.compiled.program import MOST_STEPS
from halfulp.interp.run.compiler import CodeStore, FunctionCompiler
from halfulp.interp.run.evaluators import Constant, Elementwise, evaluator_of
from halfulp.interp.run.slots import lower

ROW = 64
"""The lanes of a row."""
_PATIENCE = 32 * ROW
"""The trips that lanes may wait, beside as many as they made: the sum over the lanes of a row."""
_LONGEST = 500
"""The most ops of a function: with more, LLVM takes fewer passes, and makes no vector instructions."""
_SPARE = 8
"""More steps than the executor counts for entering and leaving a loop, and for a trip, beside the ops in them."""
_DIVISIONS = ("udiv", "sdiv", "urem", "srem")
_ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
Values = dict[SSAValue, Word]


class RowCode:
    """A function whose ops follow one another but for one scf.while, as in `LaneCode`.

    Raises NotCompiled for any other function.
    """

    def __init__(self, program: CodeStore, op: Operation, splats: Sequence[bool]) -> None:
        rows = _Rows(program, op, splats)
        self._code = llvm.compile_assembly(rows.assembly(), "rows")
        self._entry = _ENTRY(self._code.address)
        self._arrays = rows.tables.arrays
        self._tables = np.array([table.ctypes.data for table in self._arrays], np.uint64)
        self._widths = rows.widths
        self._most = rows.most

    def run(self, arguments: Sequence[Codes], lanes: int) -> tuple[list[Codes], Mask]:
        """Return the codes of the results, and the mask of the lanes that stopped."""
        made = [np.zeros(lanes, f"u{natural(width) // 8}") for width in self._widths]
        stopped = np.zeros(lanes, np.uint8)
        tables = self._tables.ctypes.data

        def work(start: int, stop: int) -> None:
            passed, found = (llvm.addresses(some, start).ctypes for some in (arguments, made))
            self._entry(tables, passed.data, found.data, stop - start, stopped[start:].ctypes.data, self._most)

        threads.share(lanes, PART, lambda: work)
        return list(made), stopped.view(np.bool_)


class _RowEmitter(Emitter):
    """Divides integers of up to 32 bits as numbers of f64, for which there are vector instructions.

    For x and y up to 2**32, the quotient is at least 1 / y below the next integer, and it is rounded by no more than
    2**-53 * x / y, so that it is cut to the right integer.
    """

    def integer(self, name: str, a: Held, b: Held) -> Held:
        """See `Machine`."""
        if name not in _DIVISIONS or a.type.width > 32:
            return super().integer(name, a, b)
        signed = name.startswith("s")
        x, y = (self.from_integer(each, signed, F64) for each in (a, b))
        quotient = self.to_integer(self.arithmetic("divide", x, y), a.type.width, signed)
        return quotient if name.endswith("div") else self.builder.sub(a, self.builder.mul(quotient, b))


class _Array:
    """A word for each lane of a row."""

    def __init__(self, emit: Emitter, width: int) -> None:
        self._emit, self._width = emit, width
        self._base = emit.variables.alloca(emit.ir.IntType(natural(width)), size=emit.constant(ROW, 64))

    def get(self, at: Held) -> Word:
        return self._emit.word(self._emit.load(self._base, at, natural(self._width))).resized(self._width)

    def set(self, at: Held, word: Word) -> None:
        self._emit.store(self._base, at, word.resized(natural(self._width)).held)


class _Rows:
    def __init__(self, program: CodeStore, op: Operation, splats: Sequence[bool]) -> None:
        blocks = op.regions[0].blocks
        loops = [each for each in blocks[0].operations if each.name == "scf.while"]
        if len(blocks) != 1 or len(loops) != 1 or any(len(region.blocks) != 1 for region in loops[0].regions):
            raise NotCompiled("a function without one loop")
        if sum(1 for _ in op.walk()) > _LONGEST:
            raise NotCompiled("so many ops")
        self._loop, self._block, self._splats = loops[0], blocks[0], splats
        operations = self._block.operations
        place = operations.index(self._loop)
        self._first, self._last, self._return = operations[:place], operations[place + 1 : -1], operations[-1]
        self._before, self._after = (region.blocks[0] for region in self._loop.regions)
        self._compiler = FunctionCompiler(program, op)
        self._settings = self._compiler.settings
        self.tables = Tables()
        self.widths = [self._width(value) for value in self._return.operands]
        trip = len(self._before.operations) + len(self._after.operations) + _SPARE
        self.most = max(0, (min(self._settings.max_steps, MOST_STEPS) - len(self._block.operations)) // trip - 1)

    def _width(self, value: SSAValue) -> int:
        return width_of_scalar(value.type, self._settings)

    def _run(self, operations: Sequence[Operation], values: Values) -> None:
        """Make the instructions of ops, which add their results to the values."""
        for op in operations:
            evaluator = evaluator_of(op)
            if isinstance(evaluator, Constant):
                code = lower(evaluator.build(op, self._compiler))
                if not isinstance(code, int):
                    raise NotCompiled(f"'{op.name}' of poison")
                values[op.results[0]] = self._emit.number(code, self._width(op.results[0]))
                continue
            kernel = self._compiler.kernel(op, evaluator) if isinstance(evaluator, Elementwise) else None
            if kernel is None or kernel.words is None:
                raise NotCompiled(f"'{op.name}'")
            found = kernel.words(*(values[operand] for operand in op.operands))
            values.update(zip(op.results, found if isinstance(found, tuple) else (found,), strict=True))

    def _trip(self, block: Block, values: Values, words: Sequence[Word]) -> list[Word]:
        """Make the instructions of a block of the loop; return what its terminator passes."""
        *operations, terminator = block.operations
        values.update(zip(block.arguments, words, strict=True))
        self._run(operations, values)
        return [values[operand] for operand in terminator.operands]

    def _refused(self) -> Word:
        held = self._emit.take_refused()
        return self._emit.number(0, 1) if held is None else self._emit.word(held)

    def assembly(self) -> str:
        """Return the function ``rows``. Raises NotCompiled."""
        make = llvm.ir()
        pointer, word = make.PointerType(), make.IntType(64)
        module = make.Module()
        type_ = make.FunctionType(make.VoidType(), [pointer] * 3 + [word, pointer, word])
        function = make.Function(module, type_, "rows")
        emit = self._emit = _RowEmitter(function, self.tables, 0)
        _, arguments, results, count, stopped, most = function.args
        given = emit.addresses(arguments, len(self._splats))
        made = emit.addresses(results, len(self.widths))
        carried = [_Array(emit, self._width(value)) for value in self._before.arguments]
        passed = [_Array(emit, self._width(value)) for value in self._loop.results]
        active, refused = _Array(emit, 1), _Array(emit, 1)
        start, trips, left, patience = (emit.variable(word) for _ in range(4))
        zero, one, size = emit.constant(0, 64), emit.constant(1, 64), emit.constant(ROW, 64)
        row, trip, again, behind, end = (emit.label() for _ in range(5))

        def each(body: Callable[[Held, Values], None]) -> None:
            """Make a loop over the lanes of the row; ``body`` gets the place in it, and the values before the loop."""
            index, inner, after = emit.variable(word), emit.label(), emit.label()
            first = emit.get(start, word)
            rest = emit.builder.sub(count, first)
            lanes = emit.choose(emit.relation("s<", rest, size), rest, size)
            emit.set(index, zero)
            emit.jump(inner)
            emit.begin(inner)
            at = emit.get(index, word)
            lane = emit.builder.add(first, at)
            values: Values = {}
            for argument, base, splat in zip(self._block.arguments, given, self._splats, strict=True):
                width = self._width(argument)
                code = emit.load(base, zero if splat else lane, natural(width))
                values[argument] = emit.word(code).resized(width)
            self._run(self._first, values)
            body(at, values)
            following = emit.builder.add(at, one)
            emit.set(index, following)
            emit.branch(emit.relation("s<", following, lanes), inner, after)
            emit.begin(after)

        def begin(at: Held, values: Values) -> None:
            for array, value in zip(carried, self._loop.operands, strict=True):
                array.set(at, values[value])
            for array, value in zip(passed, self._loop.results, strict=True):
                array.set(at, emit.number(0, self._width(value)))
            wrong = self._refused()
            refused.set(at, wrong)
            active.set(at, ~wrong)

        def advance(at: Held, values: Values) -> None:
            runs = active.get(at)
            condition, *words = self._trip(self._before, values, [array.get(at) for array in carried])
            wrong = self._refused()
            goes = runs & ~wrong & condition
            for array, found in zip(passed, words, strict=True):
                array.set(at, runs.choose(found, array.get(at)))
            for array, found in zip(carried, self._trip(self._after, values, words), strict=True):
                array.set(at, found)  # what it is no longer matters once a lane does not run
            wrong_after = self._refused()
            stays = goes & ~wrong_after
            refused.set(at, refused.get(at) | runs & wrong | goes & wrong_after)
            active.set(at, stays)
            emit.set(left, emit.builder.add(emit.get(left, word), stays.resized(64).held))

        def finish(at: Held, values: Values) -> None:
            values.update(zip(self._loop.results, [array.get(at) for array in passed], strict=True))
            self._run(self._last, values)
            lane = emit.builder.add(emit.get(start, word), at)
            for base, value, width in zip(made, self._return.operands, self.widths, strict=True):
                emit.store(base, lane, values[value].resized(natural(width)).held)
            wrong = refused.get(at) | active.get(at) | self._refused()
            emit.store(stopped, lane, wrong.resized(8).held)

        emit.set(start, zero)
        emit.jump(row)

        emit.begin(row)
        each(begin)
        emit.set(trips, most)
        emit.set(patience, emit.constant(_PATIENCE, 64))
        emit.jump(trip)

        emit.begin(trip)
        rest = emit.get(trips, word)
        emit.set(trips, emit.builder.sub(rest, one))
        emit.branch(emit.relation("s<", zero, rest), again, behind)

        emit.begin(again)
        emit.set(left, zero)
        each(advance)
        running = emit.word(emit.get(left, word))
        # Two for each lane that runs, less one for each lane: those that run earn what the others may wait.
        waits = emit.word(emit.get(patience, word)) + running + running - ROW
        emit.set(patience, waits.held)
        emit.branch((running.differs(0) & waits.of(0).at_most(waits, signed=True)).held, trip, behind)

        emit.begin(behind)
        each(finish)
        emit.set(start, emit.builder.add(emit.get(start, word), size))
        emit.branch(emit.relation("s<", emit.get(start, word), count), row, end)

        emit.begin(end)
        emit.builder.ret_void()
        emit.finish()
        return str(module)
