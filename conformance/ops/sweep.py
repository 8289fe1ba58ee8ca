"""Everything against everything: the families of tasks, the oracles that answer them, how many elements are asked.

`FAMILIES` is the plan. At level ``full`` small spaces are enumerated and large ones sampled deeply (`make
conformance`); at level ``sample`` every task is asked a little, so that tests and CI see each of them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from halfulp.conformance.comparing.check import Tally, check
from halfulp.conformance.comparing.coverage import Coverage, covered
from halfulp.conformance.comparing.divergences import divergences
from halfulp.conformance.comparing.inputs import float_types, inputs_for, is_exhaustive
from halfulp.conformance.comparing.op_case import Task, task
from halfulp.conformance.ops.workers import process_pool
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.oracle import Oracle, Unavailable
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.arith import CMPF_PREDICATE, CMPI_PREDICATE
from halfulp.interp.ir.errors import TypeMismatch, VerifyError

FLOAT_ARITHMETIC = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")
ROUNDED = ("addf", "subf", "mulf", "divf")
INTEGER_ARITHMETIC = (
    "addi", "subi", "muli", "divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui", "andi", "ori",
    "xori", "shli", "shrsi", "shrui", "maxsi", "maxui", "minsi", "minui", "addui_extended", "mulsi_extended",
    "mului_extended",
)  # fmt: skip
MODES = tuple(mode.spelling for mode in Rounding if mode is not Rounding.STOCHASTIC)
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
"""Expressed and quantised type, per layer, per channel and per block."""


def _valid(op: str, types: Sequence[str] | str, to: str | None = None, **properties: str) -> Iterator[Task]:
    """The task, if the op accepts the types."""
    try:
        yield task(op, types, to, **properties)
    except (VerifyError, TypeMismatch):
        return


def float_arithmetic(types: Iterable[str]) -> Iterator[Task]:
    """The nine binary float ops, to nearest even."""
    for name, op in product(types, FLOAT_ARITHMETIC):
        yield task(f"arith.{op}", name)


def directed_arithmetic(types: Iterable[str]) -> Iterator[Task]:
    """The four rounded ops in the other modes."""
    for name, op, mode in product(types, ROUNDED, MODES[1:]):
        yield task(f"arith.{op}", name, rounding=mode)


def float_tests(types: Iterable[str]) -> Iterator[Task]:
    """negf, and cmpf with all predicates."""
    for name in types:
        yield task("arith.negf", name)
        for predicate in CMPF_PREDICATE.cases:
            yield task("arith.cmpf", name, predicate=predicate)


def conversions(sources: Iterable[str]) -> Iterator[Task]:
    """extf, truncf and convertf into all 18 types, in every mode the op has."""
    for source, target in product(sources, FORMATS):
        if source == target:
            continue
        yield from _valid("arith.extf", source, target)
        for op, mode in product(("truncf", "convertf"), MODES):
            yield from _valid(f"arith.{op}", source, target, rounding=mode)


def plain_conversions(sources: Iterable[str]) -> Iterator[Task]:
    """extf and truncf without a mode, as most tools know them."""
    for source, target in product(sources, FORMATS):
        for op in ("extf", "truncf"):
            yield from _valid(f"arith.{op}", source, target)


def integer_conversions(types: Iterable[str], widths: Iterable[int]) -> Iterator[Task]:
    """sitofp, uitofp, fptosi and fptoui."""
    for name, width in product(types, widths):
        for op in ("sitofp", "uitofp"):
            yield task(f"arith.{op}", f"i{width}", name)
        for op in ("fptosi", "fptoui"):
            yield task(f"arith.{op}", name, f"i{width}")


def integer_arithmetic(widths: Iterable[int]) -> Iterator[Task]:
    """All integer ops of two operands, cmpi with all predicates, and casts to neighbouring widths."""
    for width in widths:
        for op in INTEGER_ARITHMETIC:
            yield task(f"arith.{op}", f"i{width}")
        for predicate in CMPI_PREDICATE.cases:
            yield task("arith.cmpi", f"i{width}", predicate=predicate)
        for op, other in product(("extsi", "extui", "trunci"), (1, 4, 8, 16, 64, 128)):
            yield from _valid(f"arith.{op}", f"i{width}", f"i{other}")


def other_ops(types: Iterable[str]) -> Iterator[Task]:
    """select, bitcast and the casts of index."""
    for name in types:
        yield task("arith.select", ["i1", name, name])
        yield task("arith.bitcast", name, f"i{FORMATS[name].bits}")
        yield task("arith.bitcast", f"i{FORMATS[name].bits}", name)
    for op in ("index_cast", "index_castui"):
        yield task(f"arith.{op}", "i32", "index")
        yield task(f"arith.{op}", "index", "i32")
        yield task(f"arith.{op}", "i128", "index")


def scaling(types: Iterable[str]) -> Iterator[Task]:
    """scaling_extf and scaling_truncf with scales in f8E8M0FNU and f32."""
    for small, wide, scale in product(types, ("f32", "bf16", "f16"), ("f8E8M0FNU", "f32")):
        yield from _valid("arith.scaling_extf", [small, scale], wide)
        yield from _valid("arith.scaling_truncf", [wide, scale], small)


def quantization() -> Iterator[Task]:
    """qcast, dcast and scast."""
    for expressed, quantized in QUANTIZED:
        storage = quantized.partition("<")[2].partition(":")[0].partition("<")[0].replace("u", "i")
        yield task("quant.qcast", expressed, quantized)
        yield task("quant.dcast", quantized, expressed)
        yield task("quant.scast", quantized, storage)
        yield task("quant.scast", storage, quantized)


@dataclass(frozen=True)
class Family:
    """Tasks that the same oracles are asked, with the number of elements of each task at each level.

    A task whose operands have at most ``bits`` bits together is enumerated at level full. Where ``sample`` is 0, that
    level leaves the family out.
    """

    name: str
    tasks: Callable[[], Iterable[Task]]
    oracles: tuple[str, ...]
    full: int
    sample: int
    bits: int = 16


EVERY_WIDTH = "every width"
"""What the name of a family says that has integers of all widths, so many that reports take them together."""

_MLIR = ("mlir-fold", "mlir-runtime", "mlir-native")
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
    # mlir-opt folds cmpf on scalars only, and a lossy conversion keeps all of a tensor from folding: asking takes long.
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
    Family(
        "floats and integers",
        lambda: integer_conversions(FORMATS, _WIDTHS),
        ("apfloat",),
        20_000,
        60,
    ),
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


@dataclass(frozen=True)
class Job:
    """One task for one oracle. ``bits``: spaces up to so many bits are enumerated."""

    family: str
    oracle: str
    task: Task
    count: int
    bits: int
    seed: int


@dataclass
class Report:
    """What came of a sweep: a tally per oracle, family and task name, oracles that were missing, and the coverage."""

    level: str
    seed: int
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    tallies: dict[tuple[str, str, Task], Tally] = field(default_factory=dict)
    coverage: dict[Task, Coverage] = field(default_factory=dict)

    def total(self, name: str | None = None) -> Tally:
        """All tallies, or those of one oracle, together."""
        total = Tally()
        for (oracle_name, _, _), tally in self.tallies.items():
            if name is None or oracle_name == name:
                total.add(tally)
        return total

    def known(self) -> dict[str, Counter[str]]:
        """Per oracle, how many elements each divergence explains."""
        counts: dict[str, Counter[str]] = {}
        for (name, _, _), tally in self.tallies.items():
            counts.setdefault(name, Counter()).update(tally.known)
        return counts

    def unpinned(self) -> list[str]:
        """Divergences that cover another number of elements than the one that is pinned for this level."""
        if self.seed:
            return []
        found, field_ = self.known(), {"full": "counts", "sample": "sampled"}[self.level]
        return [
            f"{row.name} ({name}): {found[name][row.name]:,} elements, pinned are {getattr(row, field_).get(name, 0):,}"
            for row in divergences()
            for name in row.tools
            if name in found and not row.sporadic and found[name][row.name] != getattr(row, field_).get(name, 0)
        ]

    def stale(self) -> list[str]:
        """Divergences that predict wrong bits which do not come, at all or for some elements."""
        reformed: Counter[tuple[str, str]] = Counter()
        for (name, _, _), tally in self.tallies.items():
            reformed.update({(row, name): count for row, count in tally.reformed.items()})
        sporadic = {row.name for row in divergences() if row.sporadic}
        return [
            f"{row} ({name}): {count:,} elements that it predicts to be wrong are right"
            for (row, name), count in reformed.items()
            if row not in sporadic
        ]


def jobs(level: str, seed: int = 0, oracles: Iterable[str] | None = None, family: str | None = None) -> Iterator[Job]:
    """The jobs of a level ("full" or "sample"), for the given oracles (all) and family (all)."""
    wanted = None if oracles is None else set(oracles)
    for row in FAMILIES:
        if family not in (None, row.name):
            continue
        for asked in row.tasks():
            for name in row.oracles:
                count, bits = (row.full, row.bits) if level == "full" else (row.sample, 0)
                if (count or bits) and (wanted is None or name in wanted):
                    yield Job(row.name, name, asked, count, bits, seed)


def sweep(
    plan: Sequence[Job],
    level: str,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Report:
    """Do all jobs, in ``workers`` processes. Oracles that are missing are in the report, never counted as agreeing."""
    report = Report(level, seed)
    started = time.monotonic()
    for name in dict.fromkeys(job.oracle for job in plan):
        try:
            report.versions[name] = _oracle(name).version
        except Unavailable as reason:
            report.missing[name] = str(reason)
    todo = [job for job in plan if job.oracle not in report.missing]
    for done, (job, tally, coverage) in enumerate(_done(todo, workers), start=1):
        report.tallies.setdefault((job.oracle, job.family, job.task), Tally()).add(tally)
        if coverage is not None:
            report.coverage[job.task] = coverage | report.coverage.get(job.task, Coverage.empty(job.task))
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
    """One job; its coverage where the answers were compared."""
    try:
        return _done_job(job)
    except Exception as error:  # an hour's work is not lost for one task
        what = f"{type(error).__name__}: {error}"
        return job, Tally(failures=[f"{job.oracle}: {job.task}: an error of halfulp's own: {what}"]), None


def _done_job(job: Job) -> tuple[Job, Tally, Coverage | None]:
    tally, coverage = Tally(), None
    for inputs in inputs_for(job.task, job.count, job.seed, job.bits):
        found = check(_oracle(job.oracle), job.task, inputs, divergences())
        tally.add(found)
        if found.compared:
            seen = covered(job.task, inputs, is_exhaustive(job.task, job.bits), found.answered)
            coverage = seen if coverage is None else seen | coverage
    return job, tally, coverage


@cache
def _oracle(name: str) -> Oracle:
    return oracle(name)
