"""The plan of a conformance run, its jobs, and the report of their results. A job asks one oracle for one case.

`FAMILIES` is the plan: it says which oracles answer which cases, and for how many elements of each. At level ``full``,
small sets of inputs are enumerated and large ones sampled deeply (`make conformance`). At level ``sample``, every case
gets a few elements, so that tests and CI run each case.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from multiprocessing import active_children, get_context
from types import FrameType
from typing import Any

from halfulp.conformance.comparing.check import Tally, check, error_bounds, known_differences
from halfulp.conformance.comparing.divergences import divergences
from halfulp.conformance.comparing.inputs import Coverage, covered, float_types, inputs_for, is_exhaustive
from halfulp.conformance.comparing.op_case import OpCase, op_case
from halfulp.conformance.oracles import TAKES_MLIR, oracle
from halfulp.conformance.oracles.oracle import Oracle, Unavailable
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.policy import MLIR_ROUNDINGS
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE, CMPI_PREDICATE
from halfulp.interp.dialects.math.functions import row_of
from halfulp.interp.ir.errors import TypeMismatch, VerifyError

FLOAT_ARITHMETIC = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")

ROUNDED = ("addf", "subf", "mulf", "divf")

INTEGER_ARITHMETIC = (
    "addi", "subi", "muli", "divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui", "andi", "ori",
    "xori", "shli", "shrsi", "shrui", "maxsi", "maxui", "minsi", "minui", "addui_extended", "mulsi_extended",
    "mului_extended",
)  # fmt: skip

MODES = tuple(mode.spelling for mode in MLIR_ROUNDINGS)

SMALL, LARGE = float_types(8), [name for name in FORMATS if name not in float_types(8)]

QUANTIZED: tuple[tuple[str, str], ...] = (
    ("f32", "!quant.uniform<i8:f32, 0.5:3>"),
    ("f32", "!quant.uniform<u8:f32, 0.1:128>"),
    ("f32", "!quant.uniform<i8<-127:127>:f32, 0.02>"),
    ("f32", "!quant.uniform<i4:f32, 2.0:-1>"),
    ("f32", "!quant.uniform<i16:f32, 0.0003:-5>"),
    ("f16", "!quant.uniform<i8:f16, 0.25:7>"),
    ("bf16", "!quant.uniform<u4:bf16, 1.5:8>"),
    ("f64", "!quant.uniform<i32:f64, 1.0e-5:11>"),
    ("f32", "!quant.uniform<i8:f32:1, {0.5:3, 0.25, 2.0:-100, 0.001:5}>"),
    ("f32", "!quant.uniform<i8:f32:{0:1, 1:128}, {{0.5:3, 0.25}, {1.0:-7, 3.0}}>"),
)
"""Expressed and quantised types: per layer, per channel and per block."""


def _valid(op: str, types: Sequence[str] | str, to: str | None = None, **properties: str) -> Iterator[OpCase]:
    """Yield the case, if the op accepts the types."""
    try:
        yield op_case(op, types, to, **properties)
    except (VerifyError, TypeMismatch):
        return


def float_arithmetic(types: Iterable[str]) -> Iterator[OpCase]:
    """Yield the nine binary float ops, rounding to nearest even."""
    for name, op in product(types, FLOAT_ARITHMETIC):
        yield op_case(f"arith.{op}", name)


def directed_arithmetic(types: Iterable[str]) -> Iterator[OpCase]:
    """Yield the four rounded ops in the other modes."""
    for name, op, mode in product(types, ROUNDED, MODES[1:]):
        yield op_case(f"arith.{op}", name, rounding=mode)


def float_tests(types: Iterable[str]) -> Iterator[OpCase]:
    """Yield negf, and cmpf with all predicates."""
    for name in types:
        yield op_case("arith.negf", name)
        for predicate in CMPF_PREDICATE.cases:
            yield op_case("arith.cmpf", name, predicate=predicate)


def conversions(sources: Iterable[str]) -> Iterator[OpCase]:
    """Yield extf, truncf and convertf into all 18 types, in every mode of the op."""
    for source, target in product(sources, FORMATS):
        if source == target:
            continue
        yield from _valid("arith.extf", source, target)
        for op, mode in product(("truncf", "convertf"), MODES):
            yield from _valid(f"arith.{op}", source, target, rounding=mode)


def plain_conversions(sources: Iterable[str]) -> Iterator[OpCase]:
    """Yield extf and truncf without a mode, which is what most tools support."""
    for source, target in product(sources, FORMATS):
        for op in ("extf", "truncf"):
            yield from _valid(f"arith.{op}", source, target)


def integer_conversions(types: Iterable[str], widths: Iterable[int]) -> Iterator[OpCase]:
    """Yield sitofp, uitofp, fptosi and fptoui."""
    for name, width in product(types, widths):
        for op in ("sitofp", "uitofp"):
            yield op_case(f"arith.{op}", f"i{width}", name)
        for op in ("fptosi", "fptoui"):
            yield op_case(f"arith.{op}", name, f"i{width}")


def integer_arithmetic(widths: Iterable[int]) -> Iterator[OpCase]:
    """Yield all integer ops of two operands, cmpi with all predicates, and casts to neighbouring widths."""
    for width in widths:
        for op in INTEGER_ARITHMETIC:
            yield op_case(f"arith.{op}", f"i{width}")
        for predicate in CMPI_PREDICATE.cases:
            yield op_case("arith.cmpi", f"i{width}", predicate=predicate)
        for op, other in product(("extsi", "extui", "trunci"), (1, 4, 8, 16, 64, 128)):
            yield from _valid(f"arith.{op}", f"i{width}", f"i{other}")


def other_ops(types: Iterable[str]) -> Iterator[OpCase]:
    """Yield select, bitcast and the casts of index."""
    for name in types:
        yield op_case("arith.select", ["i1", name, name])
        yield op_case("arith.bitcast", name, f"i{FORMATS[name].bits}")
        yield op_case("arith.bitcast", f"i{FORMATS[name].bits}", name)
    for op in ("index_cast", "index_castui"):
        yield op_case(f"arith.{op}", "i32", "index")
        yield op_case(f"arith.{op}", "index", "i32")
        yield op_case(f"arith.{op}", "i128", "index")


def tosa_operators() -> Iterator[OpCase]:
    """Yield the elementwise operators of TOSA whose results its reference model rounds correctly, and casts."""
    for name in ("f16", "bf16", "f32"):
        for op in ("abs", "add", "ceil", "equal", "floor", "greater", "maximum", "minimum", "reciprocal", "sub"):
            yield op_case(f"tosa.{op}", name)
        for other in ("i8", "i16", "i32", "f8E4M3FN", "f8E5M2"):
            yield op_case("tosa.cast", name, other)
            yield op_case("tosa.cast", other, name)
    for op in ("abs", "add", "clz", "greater", "intdiv", "maximum", "minimum", "sub"):
        yield op_case(f"tosa.{op}", "i32")
    for name, op in product(
        ("i8", "i16", "i32"), ("and", "not", "or", "xor", "logical_left_shift", "logical_right_shift")
    ):
        yield op_case(f"tosa.{op}" if op.startswith("logical") else f"tosa.bitwise_{op}", name)
    for name, rounds in product(("i8", "i16", "i32"), (False, True)):
        yield op_case("tosa.arithmetic_right_shift", name, round=rounds)


_INTEGER_MATH = ("absi", "ctlz", "cttz", "ctpop", "ipowi")
_OF_AN_INTEGER = "fpowi"


def _math(functions: bool, names: Iterable[str], types: Iterable[str]) -> Iterator[OpCase]:
    """Yield the ops of math on floats: elementary functions, or the others."""
    definitions = default_registry().dialects["math"].ops
    for name, op in product(types, names or (name.removeprefix("math.") for name in definitions)):
        known = default_registry().require(f"math.{op}")
        if op not in _INTEGER_MATH and (row_of(known) is not None or op == "sincos") == functions:
            yield op_case(known.name, [name, "i32"] if op == _OF_AN_INTEGER else name)


def functions(types: Iterable[str], names: Iterable[str] = ()) -> Iterator[OpCase]:
    """Yield the elementary functions of math, or those of some names."""
    yield from _math(True, names, types)


def exact_math(types: Iterable[str], widths: Iterable[int] = ()) -> Iterator[OpCase]:
    """Yield the other ops of math: fma, roundings to integers, tests and operations on bits; and those on integers."""
    yield from _math(False, (), types)
    for op, width in product(_INTEGER_MATH, widths):
        yield op_case(f"math.{op}", f"i{width}")


def scaling(types: Iterable[str]) -> Iterator[OpCase]:
    """Yield scaling_extf and scaling_truncf with scales in f8E8M0FNU and f32."""
    for small, wide, scale in product(types, ("f32", "bf16", "f16"), ("f8E8M0FNU", "f32")):
        yield from _valid("arith.scaling_extf", [small, scale], wide)
        yield from _valid("arith.scaling_truncf", [wide, scale], small)


def quantization() -> Iterator[OpCase]:
    """Yield qcast, dcast and scast."""
    for expressed, quantized in QUANTIZED:
        storage = quantized.partition("<")[2].partition(":")[0].partition("<")[0].replace("u", "i")
        yield op_case("quant.qcast", expressed, quantized)
        yield op_case("quant.dcast", quantized, expressed)
        yield op_case("quant.scast", quantized, storage)
        yield op_case("quant.scast", storage, quantized)


@dataclass(frozen=True)
class Family:
    """Cases for the same oracles, with the number of elements of each case at each level.

    At level full, all inputs are used if the operands have at most ``bits`` bits together. If ``sample`` is 0, level
    sample skips the family.
    """

    name: str
    cases: Callable[[], Iterable[OpCase]]
    oracles: tuple[str, ...]
    full: int
    sample: int
    bits: int = 16


EVERY_WIDTH = "every width"
"""The words in a family's name that mark integers of all widths; reports put these cases together."""

_MLIR = ("mlir-fold", "mlir-runtime", "mlir-native")

_NATIVE = ("bf16", "f16", "f32", "f64")

_WIDTHS = (1, 2, 3, 4, 7, 8, 9, 16, 17, 24, 31, 32, 33, 53, 63, 64, 65, 96, 127, 128)

FAMILIES: tuple[Family, ...] = (
    Family("float arithmetic, up to 8 bits", lambda: float_arithmetic(SMALL), ("apfloat", "ml_dtypes", *_MLIR), 0, 400),
    Family("float arithmetic, wider", lambda: float_arithmetic(LARGE), ("apfloat", "ml_dtypes", *_MLIR), 40_000, 400),
    Family("rounding modes, up to 8 bits", lambda: directed_arithmetic(SMALL), ("apfloat",), 0, 200),
    Family("rounding modes, wider", lambda: directed_arithmetic(LARGE), ("apfloat",), 40_000, 200),
    Family(
        "negation and comparison",
        lambda: float_tests(FORMATS),
        ("apfloat", "ml_dtypes", "mlir-runtime", "mlir-native"),
        4_000,
        60,
    ),
    # mlir-opt folds cmpf on scalars only, and a lossy conversion keeps all of a tensor from folding: it is slow.
    Family("negation and comparison, folded", lambda: float_tests(FORMATS), ("mlir-fold",), 2_000, 60, 0),
    Family("conversions, folded", lambda: plain_conversions(FORMATS), ("mlir-fold",), 2_000, 100, 8),
    Family("conversions in all modes, up to 16 bits", lambda: conversions(float_types(16)), ("apfloat",), 0, 100),
    Family("conversions in all modes, tf32", lambda: conversions(["tf32"]), ("apfloat",), 0, 100, 19),
    Family("conversions in all modes, f32 and f64", lambda: conversions(["f32", "f64"]), ("apfloat",), 400_000, 100),
    Family("conversions in all modes, f80 and f128", lambda: conversions(["f80", "f128"]), ("apfloat",), 40_000, 100),
    Family(
        "conversions",
        lambda: plain_conversions(FORMATS),
        ("ml_dtypes", "mlir-runtime", "mlir-native", "mlir-expand"),
        20_000,
        100,
    ),
    Family("floats and integers", lambda: integer_conversions(FORMATS, _WIDTHS), ("apfloat",), 20_000, 60),
    Family(
        "floats and integers, common widths",
        lambda: integer_conversions(FORMATS, (1, 8, 16, 32, 64)),
        ("ml_dtypes", *_MLIR),
        20_000,
        60,
    ),
    Family(
        f"floats and integers, {EVERY_WIDTH}",
        lambda: integer_conversions(FORMATS, range(1, 129)),
        ("apfloat",),
        1_000,
        0,
    ),
    Family("integers, up to 8 bits", lambda: integer_arithmetic(range(1, 9)), ("mlir-fold", "mlir-native"), 0, 200),
    Family(
        "integers, wider",
        lambda: integer_arithmetic((16, 32, 33, 64, 128, 1024)),
        ("mlir-fold", "mlir-native"),
        5_000,
        100,
    ),
    Family("conversions in all modes, lowered", lambda: conversions(["f16", "f32"]), _MLIR[1:], 5_000, 60),
    Family("integers by the APFloat lowering", lambda: integer_arithmetic((8, 32)), ("mlir-runtime",), 1_000, 60),
    Family(
        "the arith-expand pass",
        lambda: [*integer_arithmetic((8, 32, 128)), *float_arithmetic(["bf16", "f16", "f32", "f64"])],
        ("mlir-expand",),
        5_000,
        100,
    ),
    Family("selection and bit casts", lambda: other_ops(FORMATS), ("mlir-fold", "mlir-native"), 5_000, 60),
    Family(
        "functions of math, by the C library", lambda: functions(_NATIVE), ("mlir-native", "mlir-math-llvm"), 5_000, 0
    ),
    # The folder computes these in f32 and f64 alone.
    Family("functions of math, folded", lambda: functions(["f32", "f64"]), ("mlir-fold",), 2_000, 0, 0),
    Family(
        "functions of math, expanded",
        lambda: functions(["f16", "f32"]),
        ("mlir-math-expand", "mlir-math-funcs", "mlir-math-apfloat", "mlir-math-polynomial"),
        3_000,
        0,
    ),
    Family(
        "exact ops of math",
        lambda: exact_math(_NATIVE, (8, 32, 64)),
        ("mlir-native", "mlir-math-llvm", "mlir-math-expand", "mlir-math-funcs", "mlir-math-apfloat", "mlir-fold"),
        3_000,
        0,
        0,
    ),
    # One op that each pass rewrites, asked at both levels.
    Family(
        "math, a sample of each lowering",
        lambda: [*functions(["f32"], ("fpowi", "tanh")), op_case("math.fma", "f16")],
        ("mlir-math-llvm", "mlir-math-expand", "mlir-math-funcs", "mlir-math-apfloat", "mlir-math-polynomial"),
        400,
        40,
        0,
    ),
    Family("functions of math, IREE", lambda: functions(["bf16", "f16", "f32"]), ("iree",), 3_000, 0),
    Family("operators of TOSA", tosa_operators, ("tosa",), 4_000, 60),
    Family("scaling", lambda: scaling(SMALL), ("mlir-expand",), 20_000, 100),
    Family("quantisation", quantization, ("mlir-quant",), 20_000, 200),
    Family(
        "IREE",
        lambda: [
            *plain_conversions(["f32", *SMALL]),
            *float_arithmetic(["f32", "f16", "bf16"]),
            *integer_conversions(["f32"], (8, 32)),
            *integer_arithmetic((8, 32)),
        ],
        ("iree",),
        100_000,
        200,
    ),
    Family(
        "the specification in plain integers",
        lambda: [
            *float_arithmetic(FORMATS),
            *conversions(FORMATS),
            *integer_conversions(FORMATS, (1, 8, 33, 128)),
            *integer_arithmetic((1, 3, 8, 64, 128)),
            *scaling(SMALL),
            *quantization(),
        ],
        ("exact",),
        2_000,
        50,
        0,
    ),
)


# --- workers ----------------------------------------------------------------------------------------------------------
#
# Processes that share work: their number, and how they begin and end together with the parent.

_PR_SET_PDEATHSIG = 1


class _Pool(ProcessPoolExecutor):
    """A pool that delays interrupts until a process has run `_begin`; an earlier interrupt would end the process with a
    traceback.
    """

    def submit(self, *asked: Any, **options: Any) -> Future[Any]:
        with _interrupts_held():  # this starts processes, which inherit the blocked signals
            return super().submit(*asked, **options)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Delay interrupts until the block ends: they would break a process that has only half started."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *given: held.append(given))
    # Started processes inherit the mask. Other threads of this process may still take the signal: so it is not enough.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if held and callable(handler):
            handler(*held[0])


@contextmanager
def process_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A context manager that gives a pool of processes. They start fresh and are not forked, since C++ tools do not
    survive a fork in every state.

    At the end it waits for work that is running; an interrupt or SIGTERM ends the processes.
    """
    others = set(active_children())
    with _Pool(workers, get_context("spawn"), initializer=_begin) as pool:
        try:
            yield pool
        except (KeyboardInterrupt, SystemExit):
            for process in set(active_children()) - others:
                process.terminate()
            raise


def _begin() -> None:
    """Leave interrupts to the parent process, and end together with it. Use one core: the others are for the other
    processes.
    """
    llvm.use_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


# --- jobs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One case for one oracle. ``bits``: all operands are enumerated if they have at most so many bits together.

    ``mlir``: the mlir-opt of the oracle, if it takes one.
    """

    family: str
    oracle: str
    case: OpCase
    count: int
    bits: int
    seed: int
    mlir: str | None = None


@dataclass
class ConformanceReport:
    """The result of a conformance run: tallies per oracle, family and case, the missing oracles, and the coverage."""

    level: str
    seed: int
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    tallies: dict[tuple[str, str, OpCase], Tally] = field(default_factory=dict)
    coverage: dict[OpCase, Coverage] = field(default_factory=dict)

    def total(self, name: str | None = None) -> Tally:
        """Return the sum of all tallies, or of those of one oracle."""
        total = Tally()
        for (oracle_name, _, _), tally in self.tallies.items():
            if name is None or oracle_name == name:
                total.add(tally)
        return total

    def known(self) -> dict[str, Counter[str]]:
        """Return, for each oracle, the number of elements that each divergence explains."""
        counts: dict[str, Counter[str]] = {}
        for (name, _, _), tally in self.tallies.items():
            counts.setdefault(name, Counter()).update(tally.known)
        return counts

    def changed(self) -> list[str]:
        """Return texts about known differences that do not agree with their rows: the results of `stale`, `unpinned`
        and `exceeded`.
        """
        return [*self.stale(), *self.unpinned(), *self.exceeded()]

    def unpinned(self) -> list[str]:
        """Return texts about the divergences whose count differs from the count that is recorded for this level. Of
        oracles with any mlir-opt, the counts of MLIR 22 are recorded.
        """
        if self.seed:
            return []
        other = {name for name in TAKES_MLIR if not self.versions.get(name, "22").startswith("22")}
        found, field_ = self.known(), {"full": "counts", "sample": "sampled"}[self.level]
        return [
            f"{row.name} ({name}): {found[name][row.name]:,} elements, pinned are {pinned:,}"
            for row in divergences()
            for name in row.tools
            if name in found and name not in other and not row.sporadic
            if found[name][row.name] != (pinned := getattr(row, field_).get(name, 0))
        ]

    def exceeded(self) -> list[str]:
        """Return texts about the error bounds with more wrong special values than their rows allow."""
        found = self.known()
        return [
            f"{row.special_name} ({row.tool}): {found[row.tool][row.special_name]:,} are wrong, at most"
            f" {row.special_values:,} are known"
            for row in error_bounds()
            if row.tool in found and found[row.tool][row.special_name] > row.special_values
        ]

    def stale(self) -> list[str]:
        """Return texts about the divergences that predict wrong bits for elements that are right."""
        reformed: Counter[tuple[str, str]] = Counter()
        for (name, _, _), tally in self.tallies.items():
            reformed.update({(row, name): count for row, count in tally.reformed.items()})
        sporadic = {row.name for row in divergences() if row.sporadic}
        return [
            f"{row} ({name}): {count:,} elements that it predicts to be wrong are right"
            for (row, name), count in reformed.items()
            if row not in sporadic
        ]


def jobs(
    level: str,
    seed: int = 0,
    oracles: Iterable[str] | None = None,
    family: str | None = None,
    mlir: str | None = None,
) -> Iterator[Job]:
    """Yield the jobs of a level ("full" or "sample"), for the given oracles (all) and family (all)."""
    wanted = None if oracles is None else set(oracles)
    for row in FAMILIES:
        count, bits = (row.full, row.bits) if level == "full" else (row.sample, 0)
        names = [name for name in row.oracles if wanted is None or name in wanted]
        if family in (None, row.name) and names and (count or bits):
            for asked, name in product(_cases(row), names):
                yield Job(row.name, name, asked, count, bits, seed, mlir)


@cache
def _cases(family: Family) -> tuple[OpCase, ...]:
    """Return the cases of a family, made once: each is checked as its own module."""
    return tuple(family.cases())


def run_jobs(
    plan: Sequence[Job],
    level: str,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> ConformanceReport:
    """Do all jobs in ``workers`` processes. Missing oracles are in the report, and never count as agreeing."""
    report = ConformanceReport(level, seed)
    started = time.monotonic()
    for name, mlir in dict.fromkeys((job.oracle, job.mlir) for job in plan):
        try:
            report.versions[name] = _oracle(name, mlir).version
        except Unavailable as reason:
            report.missing[name] = str(reason)
    todo = [job for job in plan if job.oracle not in report.missing]
    for done, (job, tally, coverage) in enumerate(_done(todo, workers), start=1):
        report.tallies.setdefault((job.oracle, job.family, job.case), Tally()).add(tally)
        if coverage is not None:
            report.coverage[job.case] = coverage | report.coverage.get(job.case, Coverage.empty(job.case))
        progress(done, len(todo))
    report.seconds = time.monotonic() - started
    return report


def _done(todo: Sequence[Job], workers: int) -> Iterator[tuple[Job, Tally, Coverage | None]]:
    if workers == 1:
        yield from map(do, todo)
        return
    with process_pool(workers) as pool:
        yield from pool.map(do, todo, chunksize=4)


def do(job: Job) -> tuple[Job, Tally, Coverage | None]:
    """Do one job, and return it with its tally. The coverage is returned too if the answers were compared."""
    try:
        return _done_job(job)
    except Exception as error:  # one case must not lose an hour's work
        what = f"{type(error).__name__}: {error}"
        return job, Tally(failures=[f"{job.oracle}: {job.case}: an error of halfulp's own: {what}"]), None


def _done_job(job: Job) -> tuple[Job, Tally, Coverage | None]:
    tally, coverage = Tally(), None
    for inputs in inputs_for(job.case, job.count, job.seed, job.bits):
        found = check(_oracle(job.oracle, job.mlir), job.case, inputs, known_differences())
        tally.add(found)
        if found.compared:
            seen = covered(job.case, inputs, is_exhaustive(job.case, job.bits), found.answered)
            coverage = seen if coverage is None else seen | coverage
    return job, tally, coverage


@cache
def _oracle(name: str, mlir: str | None) -> Oracle:
    return oracle(name, mlir)
