"""Compare what users see of two trees: ``python tests/same.py BASE [HEAD]``.

    python tests/same.py main                    # the tree as it is, compared with main
    python tests/same.py main --only 'docs/*'    # some cases
    python tests/same.py main --kept FOLDER      # where the outcomes of BASE are kept (default: build/same)

BASE and HEAD are commits; without HEAD it is the tree, with the changes that are not committed. Both run the same cases
(`same_cases.py`): the commands and programs of BASE's documents, its examples, sets of vectors, the conformance report, help
texts, public names, the names of the benchmarks, and wrong commands and wrong calls. The outcome of a case is its exit code, its
output and the files that it writes. The exit code is 1 if an outcome differs and no row of `CHANGES` says so.

If a command, an option or a public name gets a new name, add a row to `RENAMES`: the case then uses the new name in HEAD, and the
old name in an outcome of BASE counts as the new one. If an outcome changes on purpose, add a row to `CHANGES` with the reason.
The outcomes of BASE are kept by commit, so that a second run takes half the time. To make them takes 3 minutes on 2 quiet cores.
"""

import argparse
import ast
import difflib
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from same_cases import Chain, Step, all_chains
from tree import ROOT

BUILD = ROOT / "build" / "same"


# --- tables to extend -----------------------------------------------------------------------------------------------------


class NewCommand(NamedTuple):
    """An old command and the words that replace it, if the old command has the option ``having``."""

    old: str
    new: tuple[str, ...]
    having: str = ""


@dataclass(frozen=True)
class Renames:
    """Old names and the new ones."""

    #: Commands; the first row that fits counts: ``NewCommand("trace", ("run", "--trace"))``.
    commands: tuple[NewCommand, ...] = ()
    #: Options by command, or of all commands by "": ``{("run", "--expected_output"): "--expected-output"}``.
    options: Mapping[tuple[str, str], str] = field(default_factory=dict)
    #: Public names with dots: ``{"hu.round": "hu.round_to"}``.
    names: Mapping[str, str] = field(default_factory=dict)
    #: Keyword arguments by function (its old name): ``{("hu.accuracy", "between"): "range"}``.
    keywords: Mapping[tuple[str, str], str] = field(default_factory=dict)


class Change(NamedTuple):
    """A difference that is meant: in the cases whose names match ``cases``, for a ``reason``.

    With ``old`` and ``new``, a regular expression and its replacement (as of `re.sub`), only that may differ. Without them, anything.
    """

    cases: str
    reason: str
    old: str | None = None
    new: str = ""
    #: Whether ``old`` is replaced in both outcomes: for a text that is another one in each case.
    both: bool = False


_FIELDS = (
    "reduction_blocks|sum_type|products|divisors|integer_division|total_order|logistic|reduced_nan|index_sign|scatter_windows|"
    "promises|padding_of_windows|scattered_initial|dot_algorithm|quantized_ops|narrow_subnormals|flushed_formats|masked_load"
)
"""The fields of profiles that were added."""

RENAMES = Renames(
    commands=(
        NewCommand("trace", ("run", "--trace")),
        NewCommand("explain-dot", ("explain", "dot")),
        NewCommand("explain-error", ("explain", "error")),
        NewCommand("explore", ("formats", "--explore")),
        NewCommand("inspect", ("translate", "--summary")),
        NewCommand("accuracy", ("verify", "--ulp")),
        NewCommand("validate", ("fuzz",)),
        NewCommand("vectors", ("vectors", "make")),
        NewCommand("check-vectors", ("vectors", "check")),
        NewCommand("sweep", ("vectors", "sweep")),
        NewCommand("constraints", ("iree", "constraints")),
        NewCommand("workgroups", ("iree", "workgroups")),
    ),
    options={("", "--expected_output"): "--expected-output", ("", "--mlir-opt"): "--mlir"},
    names={
        **{
            f"hu.{name}": f"hu.errors.{name}"
            for name in ("AssertionFailed", "DocumentWarning", "InputError", "LimitExceeded")
        },
        **{f"hu.{name}": f"hu.iree.{name}" for name in ("Workgroups", "constraints", "workgroups")},
        **{f"hu.register_{name}": f"hu.register.{name}" for name in ("cast", "dialect", "external", "format", "op")},
        "hu.Dialect": "hu.register.Dialect",
        "hu.Trait": "hu.register.Trait",
        "hu.NanEncoding": "hu.register.NanEncoding",
        "hu.fixed": "hu.fixed.array",
        "hu.FixedArray": "hu.fixed.FixedArray",
        "hu.FixedFormat": "hu.fixed.FixedFormat",
        "hu.p3109": "hu.p3109.eval",
        "hu.kappa": "hu.p3109.kappa",
        "hu.quantized": "hu.quant.type",
        "hu.quantize_multiplier": "hu.quant.multiplier",
        "hu.requantize": "hu.quant.requantize",
        "hu.suggest_scale": "hu.quant.suggest_scale",
    },
    keywords={
        **{
            (f"hu.{name}", "entry"): "function"
            for name in (
                *(
                    "compare", "constraints", "exception_flags", "program_accuracy", "run", "sensitivity", "trace",
                    "workgroups",
                ),
            )
        },
        **{(f"hu.{name}", "fmt"): "type" for name in ("all_values", "neighbours", "ulp")},
        **{(f"hu.{name}", "f"): "function" for name in ("round", "round_rows")},
        ("hu.accuracy", "between"): "range",
        ("hu.accuracy", "samples"): "n",
        ("hu.accuracy", "seconds"): "time_limit",
        ("hu.bisect", "count"): "n",
        ("hu.bisect", "mlir_opt"): "mlir",
        ("hu.check", "most"): "n",
        ("hu.convert", "from_"): "type",
        ("hu.fixed", "fmt"): "to",
        ("hu.program_accuracy", "samples"): "n",
        ("hu.quantize_blocks", "element"): "to",
        ("hu.trace", "limit"): "n",
    },
)  # fmt: skip
KEPT = (
    "run", "eval", "formats", "translate", "explain", "sensitivity", "verify", "diff", "bisect", "reduce", "fuzz", "cache",
)  # fmt: skip
"""The commands that have their former names."""

CHANGES: tuple[Change, ...] = (
    Change("*", "why a divergence exists is said in other words", r'"why": "[^"\n]*"', '"why": ""', both=True),
    Change("*", "more dialects are evaluated", r"it knows the dialects [^\n]*", "it knows the dialects", both=True),
    Change(
        "vectors arith.truncf *",
        "a known row is also one of MLIR 24",
        r'\{\n *"name": "infinity to f4 and f6 is zero in the library of 22",\n[^}]*\},\n *',
        "",
        both=True,
    ),
    Change("recorded * hu.profile(*", "profiles have more fields", ", masked_load", "", both=True),
    Change("recorded f161d2 *", "more implementations run in the MLIR that --mlir names"),
    Change("* stablehlo.add*", "StableHLO is read and evaluated"),
    Change("recorded a097b9 *", "StableHLO is read and evaluated"),
    Change("report", "the report is said in other words"),
    *(
        Change(case, "more rows where results are tiny, and models of them")
        for case in ("* --models * --coverage*", "* --models list", "vectors arith.mulf --type f32 --models B5 *")
    ),
    Change("recorded 84620d *", "vectors of any level have coverage"),
    *(
        Change(f"vectors * --type {type_} --format dpi", "the models have stochastic rounding")
        for type_ in ("f16", "f32")
    ),
    *(
        Change(case, "check-vectors names more causes")
        for case in ("sets 4 *", "sets 5 *", "docs/test-benches.md python 2")
    ),
    *(
        Change(f"help {name}", "new options, or other words")
        for name in ("formats", "verify", "check-vectors", "bisect", "diff", "fuzz", "reduce")
    ),
    Change("wrong: explain-dot*", "explain dot takes a whole recording, too"),
    Change(
        "*",
        "a format of one's own is offered",
        r"a format of your own is !halfulp\.float<[^\n]*>; ",
        "",
        both=True,
    ),
    Change("*", "one word for the exact result", "from the truth", "from the exact result"),
    Change("recorded * hu.convert(*from_=*", "the type of bits is that of numbers, type="),
    Change("*", "the name of a function is function= everywhere", r'entry="…"', 'function="…"'),
    *(
        Change("*", "messages say what is wrong in a whole sentence", old, new)
        for old, new in (
            ("there are no terms for", "the proof does not cover"),
            ("stands beside a value of type", "cannot be combined with a value of type"),
            ("lacks values of", "does not have all values of"),
            ("a share is a number of percent", "a share is a percentage"),
            ("is no list of integers", "is not a list of integers"),
            ("which is not there", "which does not exist"),
            (" goes with ", " can be used only with "),
            (" does not go with ", " cannot be used with "),
            ("does not say which type is meant", "may mean several types"),
            ("of which no columns can be made", "which cannot be columns"),
            ("choose of", "choose one of"),
            ("--mlir-opt=PATH names another program", "--mlir=22, 24 or PATH names another one"),
            ("--mlir-opt cannot be used with --against", "--mlir cannot be used with --against"),
            ("( is| are) about ", r"\1 for "),
            (": a tensor of shape 2 into", ": cannot store a tensor of shape 2 into"),
            (
                "there are no corners for operands of 100000 bits, only up to 4096",
                "level 1 has operands of up to 4096 bits, not of 100000",
            ),
            ("those of A and B are two, or one for both", "give two types, for A and B, or one for both"),
            (
                "round takes the nearest one",
                "to use the nearest number of the type, add the option round, as in FILE:round",
            ),
        )
    ),
    Change("public names *", "names are in namespaces, and an argument of one meaning has one name"),
    Change("help", "fourteen commands are listed, with their forms"),
    Change("help explain-dot", "the name of the command and its examples"),
    *(
        Change(case, "names of products are models of tile operations")
        for case in (
            "* hu.run(*mma='chip:h100')",
            "* hu.sensitivity(*models=['chip:h100'])",
            "wrong: vectors *--mma=chip:h100",
        )
    ),
    Change("help explore", "the option --explore"),
    Change("help inspect", "the option --summary"),
    Change("help accuracy", "the option --ulp"),
    Change("help validate", "fuzz --pass has the help; fuzz alone that of its other forms"),
    Change("help explain", "--list names the ops that have an explanation"),
    *(
        Change(f"help {name}", "the usage line is longer by the new name")
        for name in ("constraints", "workgroups", "vectors", "sweep")
    ),
    Change("wrong: a command", "the commands that there are"),
    *(
        Change(
            f"{kind} {old} *",
            "the error has the name of the command",
            r"(?m)^halfulp: error: unrecognized",
            f"halfulp {' '.join(word for word in new if not word.startswith('--'))}: error: unrecognized",
        )
        for old, new in (*((row.old, row.new) for row in RENAMES.commands), *((name, (name,)) for name in KEPT))
        for kind in ("wrong:", "recorded ??????")
    ),
    *(
        Change(
            f"wrong: {old} *",
            "the error has the command without its form",
            rf"(?m)^halfulp {new} \S+: error",
            f"halfulp {new}: error",
        )
        for old, new in (("inspect", "translate"), ("explore", "formats"), ("trace", "run"))
    ),
    Change("wrong: diff*", "a missing argument is named"),
    Change("wrong: reduce*", "a missing argument is named"),
    Change("wrong: bisect*", "a missing argument is named"),
    Change("wrong: accuracy*", "a missing argument is named"),
    Change("docs/extending.md python 3", "the classes of evaluators have names that say what they compute on"),
    Change("help run", "the options of runs are listed in another order"),
    Change("help eval", "the options of runs are listed in another order"),
    Change("help trace", "the options of runs are listed in another order"),
    Change("help sensitivity", "the options that it always refused are gone"),
    Change("help explain-error", "the options that it always refused are gone"),
    Change(
        "recorded * hu.explain_op(*source=*",
        "no version was released whose names it would have to explain",
        r"^InputError: error: source= is the old name.*$",
        "VerifyError: error: 'arith.truncf' has no property 'source'; it has fastmath, roundingmode",
    ),
    *(
        Change(f"recorded *{name}*", "an unknown type is named", "expected non-function type", f"unknown type '{name}'")
        for name in ("bfloat16", "float32", "E5M2", "F32")
    ),
    Change("recorded a3ee73 *", "an unknown type is named"),
    Change("recorded 6792d8 *", "an unknown type is named"),
    *(
        Change("*", "the text of the error says what is wrong and what to do", old, new)
        for old, new in (
            (
                r"needs one operand of up to 64 bits, and what it gives",
                "needs exactly one operand, of at most 64 bits, and one result",
            ),
            (r"which function is to run\?", "missing the name of the function:"),
            (r"cannot run beside exact real numbers", "cannot also run with exact real numbers"),
            (r"has no report of its flags", "does not report exception flags"),
            (r"(--flags|flags=True): (.*) has no exception flags", r"\1: \2 sets no exception flags"),
            (r"'(.*)' has no channels", r"'\1' is not quantised per channel"),
            (r": it is not an array: ", " must be an array: "),
            (r"no values of type ('.*') can be made up", r"cannot generate values of type \1"),
            (
                r"results, flags and operands go with vectors: check",
                "results, flags and operands need vectors: call check",
            ),
            (r"\bn is an integer", "n must be an integer"),
            (
                r"a fraction such as 1/3, a hexadecimal float such as 0x1\.8p-3, nan, inf, or raw bits 0x….*",
                'a fraction such as "1/3", 0x1.8p-3, inf or nan\nhint: raw bits are written 0x7F',
            ),
            (r"bisect what\? give --pass-pipeline, --dumps, or", "missing: give one of --pass-pipeline, --dumps and"),
            (
                r"test what\? give one of --against, --pass-pipeline and --stages",
                "missing: give one of --against, --pass-pipeline, --stages and --pass",
            ),
            (
                r"test which pass\? give --pass=NAME, or --pass=all",
                "missing: give one of --against, --pass-pipeline, --stages and --pass",
            ),
            (
                r"what should stay\? give --against, --pass-pipeline or",
                "missing: give one of --against, --pass-pipeline and",
            ),
            (
                r"compare with what\? give --against, a second file, or",
                "missing: give one of --against, a second file and",
            ),
            (
                r"--type and --against are needed for a function and an op",
                "missing --type and --against: a function and an op need --type and --against",
            ),
            (r"error: error: ", "error: "),
            (r"--operands normal@80", "--operands=normal@80"),
            (r"hint: a program ends in \.mlir", "hint: the path of a program ends in .mlir"),
            (r"halfulp\.quantized makes", "halfulp.quant.type makes"),
        )
    ),
    Change("docs/explain.md *", "a decimal is read exactly", r"\+0\.199999\.\.\. ulp", "+0.2 ulp"),
    Change("docs/explain.md *", "a decimal is read exactly", r"-0\.4\.\.\. ulp", "-0.4 ulp"),
    Change("recorded * hu.explain_op(*", "a decimal is read exactly", r"\+0\.199999\.\.\. ulp", "+0.2 ulp"),
    Change("recorded 2c6598 *", "the hint is a part of the error"),
    Change("wrong: explain 0.1 f8E4M3FN *", "a decimal is read exactly"),
    Change("wrong: explain infinity f32", "one reader of numbers, which knows this word"),
    Change(
        "docs/explore.md python 0",
        "a number of Python is shown exactly",
        "number='0.3'",
        "number='0.299999999999999988897769753748434595763683319091796875'",
    ),
    Change("docs/sweeps.md python 0", "the program imports modules of the package by their former names"),
    Change("help cache", "it says who may write the folder"),
    Change("benchmark rows", "no row is measured a second time with numba"),
    *(
        Change(f"{kind} explain{words}", "explain has forms, and says itself what is missing")
        for kind, words in (("wrong:", ""), ("wrong:", " --nonsense"), ("recorded ??????", ""))
    ),
    Change("recorded ?????? nonsense", "the commands that there are"),
    *(
        Change(f"recorded * {call}*math.sincos*", "near names instead of all, and the command that lists them")
        for call in ("explain ", "hu.explain_op('")
    ),
    Change("recorded * hu.trace(*", "one name for one number", r"^ValueError: limit is", "ValueError: n is"),
    *(
        Change(case, "an integer without an exponent has all its digits", rf"(?<=[= ]){old}(?=[)])", new)
        for case, old, new in (
            ("docs/math.md python *", "65500", "65504"),
            ("docs/test-benches.md python *", "35000000", "35127296"),
            ("docs/test-benches.md python *", "-204000000", "-204472320"),
            ("recorded *", "65500", "65504"),
        )
    ),
    *(
        Change(case, "a NaN with a sign is -nan", rf"(?<=[= ])(?<!constant ){code}(?=[)\n ])", "-nan")
        for case in ("recorded *", "docs/*")
        for code in ("0xFF", "0xFFC0", "0xFE00", "0xFFC00000")
    ),
    Change(
        "*",
        "the poison of new tensors and buffers is not listed at each step",
        r"(?m)^ *poison born: an element of \S+ was .*\n",
    ),
    *(
        Change(case, "results that were wrong are right now", before, after)
        for case, before, after in (
            ("*", r'("semantics_version": |[( ]semantics (?:version )?)6\b', r"\g<1>8"),
            ("verify *", r"(?<=against exact )6\b", "8"),
        )
    ),
    Change("*", "profiles have more fields", rf'(?m)^ *"({_FIELDS})": .*\n', both=True),
    Change("*", "profiles have more fields", r", reduction_blocks, .*narrow_subnormals\b", both=True),
    Change("*", "profiles have more fields", r", flushed_formats\b", both=True),
    Change(
        "vectors arith.divf *",
        "the metadata name the known results that are not determined",
        r'(?m)^ *\{\n *"name": "x / 0 in f4 and f6 is not determined",\n(.*\n){5}',
        both=True,
    ),
    Change("tables", "profiles have more fields, and there are more profiles"),
    Change("*", "there are profiles of StableHLO and XLA", ", stablehlo, stablehlo-interpreter, xla-cpu", both=True),
    *(
        Change(case, "there are profiles of StableHLO and XLA", " {3,}", "  ", both=True)
        for case in ("docs/explain.md *", "docs/recipes.md *", "examples/*")
    ),
    Change("docs/from-jax.md 0 *", "StableHLO runs without IREE"),
    Change("recorded f43d05 *", "portable artifacts are read"),
    Change("recorded 5210f2 *", "the newest MLIR that is installed is asked"),
    Change(
        "docs/findings.md *",
        "the newest MLIR that is installed is asked",
        r"\bmlir-opt-22 22\.1\.8",
        "torch-mlir 24.0.0git",
    ),
    *(
        Change(f"docs/findings.md {case} *", "the newest MLIR lacks the pass of a test, or is mended")
        for case in (1, 3, 7, 14)
    ),
    Change("help translate", "the option --emit-portable"),
    Change("sets 6 *", "programs that one op explains are not named twice", "arith.addf, arith.remf", "arith.addf"),
    *(
        Change("*", "the limits of scales have the digits that MLIR prints", old, new)
        for old, new in (
            (r"1\.401300e-45, 3\.40282347E\+38", "1.401298e-45, 3.402823e+38"),
            (r"4\.940660e-324, 1\.7976931348623157E\+308", "4.940656e-324, 1.797693e+308"),
            (r"5\.960460e-08", "5.960464e-08"),
        )
    ),
    Change(
        "report", "the version of the semantics is in the part that is not shown", r"sha256 \w+", "sha256 …", both=True
    ),
    Change("*", "a module names its file and functions", r"(?m)^Module <.*>$", "Module <…>", both=True),
    Change("*", "a relative error has two digits", r"relative 0\.007:", "relative 0.0071:"),
    Change("*", "the first difference has its reason", r"(?m)^  the first difference: .*\n", "", both=True),
    Change("recorded * diff *--json", "poison, undefined behaviour and what is permitted have their reasons"),
    *(
        Change(
            "docs/findings.md *",
            "poison has its reason, and undefined behaviour its place",
            with_reason,
            r"\1",
            both=True,
        )
        for with_reason in (r"(?m)^(  after:    poison): .*$", r"(?m)^(  after:    .*) \(at <after>:\d+:\d+\)$")
    ),
    Change("docs/from-jax.md python", "the table has the signal-to-noise ratio, and who is nearer"),
    *(Change(f"help {name}", "the option --fp-contract") for name in ("diff", "bisect", "reduce", "fuzz")),
    Change("*", "an error beyond the range is in ulp of the largest numbers", r"got 8\.62 ulp", "got 17.2 ulp"),
    Change(
        "*", "an error beyond the range is in ulp of the largest numbers", r"1\.01e\+07 ulp after", "6.63e+11 ulp after"
    ),
    Change(
        "*", "an error beyond the range is in ulp of the largest numbers", r"after 1\.01e\+07 ulp", "after 6.63e+11 ulp"
    ),
    *(
        Change("*", "messages say what is wrong in a whole sentence", old, new)
        for old, new in (
            (r"P3109 has no operation '(\w+)' here", r"halfulp has no operation '\1' of P3109"),
            (
                r": ((?:atomic access|arguments with|'align' of|the bundle).*) does not run",
                r": halfulp does not run \1",
            ),
            (r": ((?:atomic access|arguments with).*) do not run", r": halfulp does not run \1"),
            (r"\bis no range of", "is not a range of"),
            (r"\bare no classes of", "are not classes of"),
            ("stochastic rounding has no mode that an op can have", "ops cannot round in the mode stochastic"),
            ("is no order of reductions; there are", "is not a known order of reductions: choose one of"),
            (r"no shadow '(\w+)': it is True, or", r"shadow is '\1', but must be True or"),
            ("may not do this", "gives a result that is not allowed"),
            (r"which type\? give --type", "the type is missing: give --type"),
            (r"which type\? halfulp explain", "the type is missing: write halfulp explain"),
            (
                r"which type\? give that of the operands, and for a cast to=",
                "the type is missing: give type=…, the type of the operands, and for a cast to=…",
            ),
            ("no dialect that is registered has it", "no registered dialect has this op"),
            (
                "hint: halfulp translate --emit-bytecode makes it bytecode",
                "hint: the file is text: halfulp translate --emit-bytecode converts it to bytecode",
            ),
            (
                r"'none' is none of (.*), and no accumulator, as in",
                r"unknown model 'none'; choose one of \1, or write an accumulator, such as",
            ),
            (r"has no iree_codegen\.smt\.constraints", "has no op iree_codegen.smt.constraints"),
            ("random operands need a count", "random operands need a count: give n (-n)"),
            (
                "--pass-pipeline makes the stages, --dumps reads them: give one",
                "--pass-pipeline and --dumps cannot be combined: give one of them",
            ),
            (
                r"random= and bits= go with rounding",
                "random= and bits= can be used only with rounding",
            ),
            (
                "takes memory, but only programs on values are measured",
                "has a memref argument, but only programs on scalars, tensors and vectors are measured",
            ),
            (r"there are no programs 'nowhere'", "--from: there is no kind of programs 'nowhere'"),
            (r"(?<=parallel-loops, affine, vectorized, branches)$", ", mutated"),
            (r"which the format '(\w+)' cannot say", r"which the format '\1' cannot express"),
            (
                "--type says how vectors are made, which --changed takes from the metadata",
                "--type cannot be used with --changed, which makes the vectors as the metadata says",
            ),
            ("a batch calls functions by their own types", "signature=… cannot be used in a batch"),
            (r"leave out signature= or", "leave out signature=… or"),
            (
                r": (llvm\.intr\.is\.fpclass with the bits 0x400), of which LLVM has the lowest 10, has no evaluation",
                r": halfulp does not run \1, of which only the lowest 10 are defined",
            ),
            (r": (llvm\.\S+ on \d+ bits) has no evaluation", r": halfulp does not run \1"),
            ("halfulp does not execute it", "halfulp has no implementation of it"),
            (
                "no document says what memory of elements of 64 bits 'arith.index_cast' gives for 32 bits",
                "'arith.index_cast' of memory from elements of 32 bits to elements of 64 bits is not defined",
            ),
            (r"memory of elements of type ('.*') is not run", r"halfulp does not run memory with elements of type \1"),
            ("infinities take an exponent field of 2 bits", "infinities need an exponent of 2 bits"),
            (
                "has no form with one level; nvfp4 has",
                "needs a scale for the tensor; only nvfp4 can be used without one",
            ),
            (r"an op with (\d+) results", r"the op has \1 results"),
            ("not about programs and tiles", "not for programs and tiles"),
            ("rounding: these go with to=…;", "rounding can be used only with to=…;"),
            ("f64 does not hold every number", "some numbers do not fit in f64"),
            ("or numbers by name", "or a dict from names to numbers"),
            (
                "a module is found as Python finds it: in the current folder if PYTHONPATH holds it",
                "Python looks for the module in the folders of PYTHONPATH: for the current folder, set PYTHONPATH=.",
            ),
            (r"C has no f8E5M2 to pass", "C has no type f8E5M2"),
            ("for a function on unsigned integers", "for a function on codes (unsigned integers)"),
        )
    ),
    Change(
        "docs/test-benches.md python *",
        "causes that equal rows refute are left out",
        "10 bits, 13 more",
        "10 bits, 2 more",
    ),
    Change(
        "sets 4 *",
        "a constant NaN is a cause",
        "profile=cuda-sat, profile=riscv",
        "profile=cuda-sat, profile=riscv, NaN always 0x7F",
    ),
    Change("sets 6 *", "values are named before flags", r"(?m)^\d of the 48 rows that differ: .*\n", "", both=True),
    Change("*", "there are models of requantisation", r"(?<=F5, F6, M1)\b", ", Q1, Q2, Q3"),
    Change("recorded 7c8c5f *", "bytes that are no file of MLIR have a hint"),
    *(
        Change(case, "types of operands are those of the elements", r"'tensor<1x(f128|i8)>'", r"'\1'")
        for case in ("vectors *", "recorded *")
    ),
    Change(
        "recorded * run * --input=@*",
        "an input that cannot be read is named",
        "error: (?=cannot read)",
        "error: <input 0>: ",
    ),
    Change("recorded 338e00 *", "ONNX is read by torch-mlir", "iree-import-onnx", "the importer of torch-mlir"),
    Change(
        "recorded b87675 *",
        "ops of all dialects are near",
        "`math.exp` or `smt.eq`",
        "`complex.exp` or `linalg.exp` or `math.exp`",
    ),
    *(
        Change("*", "there is one more oracle", rf"\biree, (?={before})", "iree, tosa, ")
        for before in ("npz, command", "a library")
    ),
    Change("wrong: cache --cleer*", "options that are near are named", r"(?m)^hint: did you mean --\w+\?\n", both=True),
    Change(
        "recorded 770905 *", "dumps before a pass are read, too", "'// -----// IR Dump After'", "'// -----// IR Dump'"
    ),
    Change("recorded *--diagnostics*json*", "each kind of error has a code", r'"code": "[\w-]+", ', both=True),
    Change("recorded d4915f *", "each kind of error has a code", r'(?<=") type="[\w-]+">', ">", both=True),
    Change("vectors arith.truncf * --type f8E8M0FNU * --format mlir", "a row of divergences follows those for less"),
    Change("recorded e2883b *", "programs of TOSA are a kind of programs", r", tosa\b", both=True),
    Change("recorded ea0295 *", "messages say what is wrong in a whole sentence", "is no power", "is not a power"),
    Change("recorded 55c438 *", "TOSA is read and evaluated"),
    Change("recorded 8436f3 *", "there are more recipes", ", nvfp4-4over6-mae.* (?=\\(did)", " ", both=True),
    *(Change(f"recorded {case} *", "it is said which ops run alone") for case in ("b1e190", "ba189e")),
    Change("recorded 5fe788 *", "an op that calls a library has a hint"),
    Change("recorded 0bdb96 *", "names of products are models of tile operations"),
    Change("recorded 86e4eb *", "names of products are models of tile operations"),
    Change("recorded * hu.matmul(*", "the nearest instruction with a published result is named"),
    Change("recorded * hu.quantize(*", "hints name the calls that make scales, and block="),
    *(
        Change(f"recorded {case} *", "similar names are named after the list", r" \(did you mean.*\)", both=True)
        for case in ("ba01c8", "d7f0f4")
    ),
    Change(
        "recorded 49d5a1 *", "only what is missing is called so", "missing --type and --against", "missing --against"
    ),
    Change("recorded 19eac6 *", "the example has a field that is missing", "in exponent = 3", "in mantissa = 3"),
)


# --- renames --------------------------------------------------------------------------------------------------------------


def renamed_words(words: Sequence[str], renames: Renames) -> list[str]:
    """Return the words of a command line with the new names."""
    if not words:
        return []
    command, *rest = words
    said = {word.partition("=")[0] for word in rest}
    for row in renames.commands:
        if row.old == command and (not row.having or row.having in said):
            head = list(row.new)
            break
    else:
        head = [command]
    found = []
    for word in rest:
        option, equals, value = word.partition("=")
        new = renames.options.get((command, option), renames.options.get(("", option), option))
        found.append(f"{new}{equals}{value}" if option.startswith("-") else word)
    return head + found


def dotted(node: ast.expr) -> str:
    """Return the name ``a.b.c`` of an expression; nothing for other expressions."""
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return node.id if isinstance(node, ast.Name) else ""


class _Renamer(ast.NodeTransformer):
    """Replaces public names and keyword arguments in a program."""

    def __init__(self, renames: Renames) -> None:
        self.renames = renames
        self.changed = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = dotted(node.func)
        for keyword in node.keywords:
            new = self.renames.keywords.get((function, keyword.arg or ""))
            if new:
                keyword.arg, self.changed = new, True
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        new = self.renames.names.get(dotted(node))
        if new:
            self.changed = True
            return ast.copy_location(ast.parse(new, mode="eval").body, node)
        self.generic_visit(node)
        return node


def renamed_code(code: str, renames: Renames) -> str:
    """Return a program with the new names; as it is, if nothing in it has a new name."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return code
    renamer = _Renamer(renames)
    tree = renamer.visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) if renamer.changed else code


def renamed_cell(cell: str, renames: Renames) -> str:
    """Return a cell of a notebook with the new names."""
    if not cell.startswith("%%"):
        return renamed_code(cell, renames)
    if not cell.startswith("%%bash"):
        return cell
    return re.sub(r"\bhalfulp [a-z].*", lambda found: _renamed_line(found[0], renames), cell)


def _renamed_line(line: str, renames: Renames) -> str:
    head, *words = line.split(" ")
    return " ".join([head, *renamed_words(words, renames)])


def renamed_step(step: Step, renames: Renames) -> Step:
    """Return a case with the new names."""
    content: Any = step.content
    if step.kind == "command":
        content = renamed_words(content, renames)
    elif step.kind == "python":
        content = renamed_code(content, renames)
    elif step.kind == "cells":
        content = [renamed_cell(cell, renames) for cell in content]
    elif step.kind == "calls":
        content = [[name, renamed_code(code, renames)] for name, code in content]
    return step._replace(content=content)


def renamed_text(text: str, renames: Renames) -> str:
    """Return an outcome with the new names of commands and public names."""
    for row in renames.commands:
        if not row.having:
            text = re.sub(rf"\bhalfulp {re.escape(row.old)}(?![\w-])", f"halfulp {' '.join(row.new)}", text)
    for old, new in renames.names.items():
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text


# --- trees and processes --------------------------------------------------------------------------------------------------


def git(*arguments: str) -> bytes:
    """Return the output of git."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: git {' '.join(arguments)}: {done.stderr.decode().strip()}")
    return done.stdout


def checked_out(commit: str) -> Path:
    """Return a folder with the files of a commit."""
    folder = BUILD / f"tree-{commit[:12]}"
    if not folder.exists():
        unfinished = Path(f"{folder}.{os.getpid()}")
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as archive:
            archive.extractall(unfinished, filter="data")
        unfinished.rename(folder)
    return folder


def site_of(tree: Path) -> Path:
    """Return a folder in which the package `halfulp` consists of links to the folders of a tree."""
    site = BUILD / f"site-{hashlib.sha256(str(tree).encode()).hexdigest()[:12]}"
    shutil.rmtree(site, ignore_errors=True)
    declared = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    for package, source in sorted(declared["tool"]["setuptools"]["package-dir"].items()):
        place = site.joinpath(*package.split("."))
        if "." in package:
            place.symlink_to(tree / source)
            continue
        place.mkdir(parents=True)
        for path in (tree / source).iterdir():
            if path.name != "__pycache__":
                (place / path.name).symlink_to(path)
    return site


class _Worker:
    """A process that runs chains in a tree."""

    def __init__(self, tree: Path, site: Path, cache: Path, fresh: bool) -> None:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("HALFULP_", "PYTHON", "XDG_"))
        }
        places = {
            "PYTHONPATH": str(site),
            "SAME_TREE": str(tree),
            "XDG_CACHE_HOME": str(cache),
            "HALFULP_CACHE": str(cache),
        }
        quiet = {
            "COLUMNS": "100",
            "MPLBACKEND": "Agg",
            "NO_COLOR": "1",
            "PYTHONHASHSEED": "0",
            "NUMBA_NUM_THREADS": "1",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(ROOT / "tests" / "same_process.py"), "fresh" if fresh else "loaded"],
            env={**kept, **places, **quiet},
            cwd=cache,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, chain: Chain, examples: Path) -> tuple[dict[str, str], float]:
        """Run a chain; return the outcomes of its cases, and the seconds that it took."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {
            "name": chain.name,
            "steps": chain.steps,
            "files": chain.files,
            "examples": str(examples) if chain.examples else "",
        }
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"error: the process that ran {chain.name} ended; its error is above")
        _, outcomes, seconds = json.loads(line)
        return outcomes, seconds

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def run_chains(chains: Sequence[Chain], tree: Path, examples: Path, jobs: int = 2) -> dict[str, str]:
    """Run chains in a tree, in several processes; return the outcome of each case."""
    found: dict[str, str] = {}
    times: list[tuple[float, str]] = []
    site = site_of(tree)
    failures: list[BaseException] = []
    with tempfile.TemporaryDirectory() as cache:
        for fresh in (True, False):
            waiting = [chain for chain in chains if chain.fresh == fresh][::-1]

            def serve(waiting: list[Chain] = waiting, fresh: bool = fresh) -> None:
                worker = _Worker(tree, site, Path(cache), fresh)
                try:
                    while waiting:
                        chain = waiting.pop()
                        outcomes, seconds = worker.run(chain, examples)
                        found.update(outcomes)
                        times.append((seconds, chain.name))
                except BaseException as error:
                    failures.append(error)
                    waiting.clear()
                worker.close()

            threads = [threading.Thread(target=serve) for _ in range(min(jobs, len(waiting)))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if failures:
                raise failures[0]
    slowest = ", ".join(f"{name[:40]} {seconds:.1f} s" for seconds, name in sorted(times)[:-6:-1])
    print(f"{tree.name}: {len(found)} cases; the slowest: {slowest}", file=sys.stderr)
    return found


# --- outcomes of the base -------------------------------------------------------------------------------------------------


PROCESS = (ROOT / "tests" / "same_process.py").read_bytes()


def mark(chain: Chain) -> str:
    """Return a digest of what a chain is, and of how outcomes are recorded."""
    return hashlib.sha256(PROCESS + json.dumps(chain).encode()).hexdigest()[:16]


def base_outcomes(commit: str, tree: Path, chains: Sequence[Chain], kept: Path) -> dict[str, str]:
    """Return the outcomes of the base: those that are kept, and new ones of chains that are not."""
    path = kept / f"{commit}.json.gz"
    stored: dict[str, dict[str, str]] = json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}
    absent = [chain for chain in chains if mark(chain) not in stored]
    if absent:
        outcomes = run_chains(absent, tree, tree / "examples")
        for chain in absent:
            stored[mark(chain)] = {name: outcomes[name] for name in chain.names}
        kept.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(gzip.compress(json.dumps(stored).encode(), 6, mtime=0))
        unfinished.replace(path)
    return {name: text for chain in chains for name, text in stored[mark(chain)].items()}


# --- comparing ------------------------------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """A case whose outcome differs, as BASE has it with new names and listed changes, and as HEAD has it."""

    case: str
    base: str
    head: str

    def shown(self, lines: int) -> str:
        """Return the first lines of a comparison."""
        found = list(
            difflib.unified_diff(self.base.splitlines(), self.head.splitlines(), "base", "head", "", "", 1, "")
        )
        more = [f"    … {len(found) - lines} more lines"] if len(found) > lines else []
        return "\n".join([f"DIFFERS {self.case}", *(f"    {line}" for line in found[2:lines]), *more])


def without_usage(text: str) -> str:
    """Leave out the usage that stands before an error about options: `help` has cases of its own."""
    return re.sub(r"(?ms)^usage: halfulp.*?(?=^halfulp[\w -]*: error: )", "", text)


def differences(
    base: Mapping[str, str],
    head: Mapping[str, str],
    renames: Renames = RENAMES,
    changes: Iterable[Change] = CHANGES,
) -> tuple[list[Difference], Counter[Change]]:
    """Return the cases that differ and are not listed, and the number of cases in which each listed change was seen."""
    found, used = [], Counter[Change]()
    for case, text in base.items():
        expected = without_usage(renamed_text(text, renames))
        now = without_usage(head.get(case, "the case did not run"))
        for change in changes:
            if expected == now:
                break
            if fnmatchcase(case, change.cases):
                changed = now if change.old is None else re.sub(change.old, change.new, expected)
                used[change] += changed != expected
                expected = changed
                if change.both and change.old is not None:
                    now = re.sub(change.old, change.new, now)
        if expected != now:
            found.append(Difference(case, expected, now))
    return found, used


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two trees, print what differs, and return the exit code."""
    parser = argparse.ArgumentParser(description="Compare what users see of two trees.")
    parser.add_argument("base", help="a commit")
    parser.add_argument("head", nargs="?", help="another commit (default: the tree as it is)")
    parser.add_argument("--only", default="*", help="the cases to run, as a pattern of their chains' names: 'docs/*'")
    parser.add_argument("--kept", type=Path, default=BUILD, help="the folder that keeps the outcomes of the base")
    parser.add_argument("--lines", type=int, default=14, help="the number of lines to print of each difference")
    given = parser.parse_args(arguments)
    commit = git("rev-parse", "--verify", f"{given.base}^{{commit}}").decode().strip()
    BUILD.mkdir(parents=True, exist_ok=True)
    base_tree = checked_out(commit)
    chains = [chain for chain in all_chains(base_tree) if fnmatchcase(chain.name, given.only)]
    base = base_outcomes(commit, base_tree, chains, given.kept)
    head_commit = given.head and git("rev-parse", "--verify", f"{given.head}^{{commit}}").decode().strip()
    now = [chain._replace(steps=tuple(renamed_step(step, RENAMES) for step in chain.steps)) for chain in chains]
    head = run_chains(now, checked_out(head_commit) if head_commit else ROOT, base_tree / "examples")
    found, used = differences(base, head)
    for difference in found:
        print(difference.shown(given.lines))
    for change in CHANGES:
        print(f"listed: {used[change]} cases, {change.cases}: {change.reason}")
    print(f"{len(base)} cases, {len(found)} differ")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
