"""Random constraints with configurations, and IREE 3.13's diagnostics on them (iree-codegen-verify-smt-constraints).

    PYTHONPATH=tests python -m corpora.constraints_iree

rewrites ``recorded/iree_constraints_3_13.json.gz``: modules, and the diagnostics of iree-opt for each. Each term of the
constraints is asserted, truth values also negated, so that the diagnostics show the values of all terms.
"""

import argparse
import gzip
import json
import re
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from corpora.corpus_iree import find_iree_opt

RECORDED = Path(__file__).parent / "recorded" / "iree_constraints_3_13.json.gz"
PIPELINE = "builtin.module(func.func(iree-codegen-verify-smt-constraints))"
COUNT, SEED = 400, 9
SECONDS = 60.0
_DIAGNOSTIC = re.compile(r"^<stdin>:(\d+):(\d+): (?:error|note): (?!see current operation)(.*)", re.MULTILINE)

Diagnostic = tuple[int, int, str]
"""Line, column and text of an error or of a note below it."""


class RecordedModule(NamedTuple):
    """A module, and iree-opt's diagnostics."""

    text: str
    said: tuple[Diagnostic, ...]


def ask(tool: str, text: str) -> tuple[Diagnostic, ...] | None:
    """Return the diagnostics of iree-opt; None where a signal stopped it. Raises RuntimeError for unreadable output."""
    done = subprocess.run(
        [tool, f"--pass-pipeline={PIPELINE}"], input=text.encode(), capture_output=True, check=False, timeout=SECONDS
    )
    said = done.stderr.decode()
    if "PLEASE submit a bug report" in said or done.returncode not in (0, 1):
        return None
    found = tuple((int(line), int(column), what) for line, column, what in _DIAGNOSTIC.findall(said))
    if done.returncode != bool(found):
        raise RuntimeError(f"{tool} ended with {done.returncode}:\n{text}\n{said}")
    return found


@cache
def recorded() -> tuple[RecordedModule, ...]:
    """Return all recorded modules."""
    rows = json.loads(gzip.decompress(RECORDED.read_bytes()))["modules"]
    return tuple(
        RecordedModule(text, tuple((line, column, what) for line, column, what in said)) for text, said in rows
    )


# --- modules ----------------------------------------------------------------------------------------------------------

_INTEGERS = (0, 1, -1, 2, 3, -7, 16, 64, 100, 1 << 31, 1 << 62, (1 << 63) - 1, -(1 << 63), 1 << 63, (1 << 65) + 5)
_REFUSED = (
    "smt.int.abs {i}",
    "smt.constant true",
    "smt.distinct {i}, {j} : !smt.int",
    "smt.xor {p}, {q}",
    "smt.implies {p}, {q}",
    "arith.constant 1 : i32",
)
# Integers and truth values: i, j and p, q are random terms, k and v are numbers.
_INTEGER_OPS = (
    *("smt.int.add {i}, {j}", "smt.int.mul {i}, {j}", "smt.int.add {i}, {j}, {i}", "smt.int.mul {i}, {j}, {j}"),
    *("smt.int.sub {i}, {j}", "smt.int.div {i}, {j}", "smt.int.mod {i}, {j}", "smt.int.div {i}, {j}"),
    *("smt.int.mod {i}, {j}", "smt.ite {p}, {i}, {j} : !smt.int", "smt.declare_fun : !smt.int"),
    "iree_codegen.smt.lookup {i} [0, 1, 2, 16, 64] -> [{k}, {v}, 5, -6, 7] : !smt.int",
)
_TRUTH_OPS = (
    *(f"smt.int.cmp {predicate} {{i}}, {{j}}" for predicate in ("lt", "le", "gt", "ge")),
    *("smt.eq {i}, {j} : !smt.int", "smt.eq {i}, {j}, {i} : !smt.int", "smt.eq {p}, {q} : !smt.bool"),
    *("smt.and {p}, {q}", "smt.or {p}, {q}", "smt.and {p}, {q}, {r}", "smt.or {p}, {q}, {r}", "smt.not {p}"),
    *("smt.ite {p}, {q}, {r} : !smt.bool", "smt.declare_fun : !smt.bool"),
)


def program(random: Random) -> str:
    """Return a function with a configured op and constraints for it."""
    template, config, knobs = _configuration(random)
    dims = [random.choice(("%c128", "%c96", "%minus", "%n", "%sum")) for _ in range(random.randrange(3))]
    body, integers, truths = _constraints(random, len(dims), knobs)
    asserts = [f'iree_codegen.smt.assert %no, "{name}={{}}", {name} : !smt.bool, !smt.int' for name in integers]
    for name in truths:
        asserts += [
            f'iree_codegen.smt.assert {name}, "{name}" : !smt.bool',
            f"%not_{name[1:]} = smt.not {name}",
            f'iree_codegen.smt.assert %not_{name[1:]}, "not {name}" : !smt.bool',
        ]
    pipelines = ("VectorDistribute", "VectorDistribute", "TileAndFuse") if random.random() < 0.1 else ("TileAndFuse",)
    own, its = random.choice(pipelines), random.choice(pipelines)
    info = f"#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<{own}>{_translation(random)}>"
    target = 1 if random.random() < 0.03 else 0
    root = f"{{root_op = #iree_codegen.root_op<set = 0>, lowering_config = #iree_gpu.lowering_config<{{{config}}}>}}"
    arguments = ", ".join(f"%d{index}: !smt.int" for index in range(len(dims)))
    return "\n".join(
        (
            f"func.func @f(%n: index) attributes {{translation_info = {info}}} {{",
            "%c128 = arith.constant 128 : index",
            "%c96 = arith.constant 96 : index",
            "%minus = arith.constant -5 : index",
            "%sum = arith.addi %c128, %c96 : index",
            f"%root = arith.constant {root} 0 : i32",
            f"iree_codegen.smt.constraints target = <set = {target}>, pipeline = #iree_gpu.pipeline<{its}>, "
            f"knobs = {{{template}}} dims({', '.join(dims)}) {{",
            f"^bb0{f'({arguments})' if arguments else ''}:",
            "%zero = smt.int.constant 0",
            "%one = smt.int.constant 1",
            "%no = smt.int.cmp gt %zero, %one",
            *body,
            *asserts,
            "}",
            "return",
            "}",
            "",
        )
    )


def _constraints(random: Random, dims: int, knobs: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the ops, and the names of the integers and truth values they define."""
    body = [f'%{name} = iree_codegen.smt.knob "{name}" : !smt.int' for name in knobs]
    integers = ["%zero", "%one", *(f"%{name}" for name in knobs), *(f"%d{index}" for index in range(dims))]
    truths = ["%no"]
    forms = [f"smt.int.constant {random.choice(_INTEGERS)}" for _ in range(3)]
    forms += random.choices((*_INTEGER_OPS, *_TRUTH_OPS), k=random.randrange(4, 16))
    if random.random() < 0.05:
        forms.insert(random.randrange(len(forms)), random.choice(_REFUSED))
    for number, form in enumerate(forms):
        named = {letter: random.choice(integers) for letter in "ij"} | {
            letter: random.choice(truths) for letter in "pqr"
        }
        body.append(f"%t{number} = {form.format(**named, k=random.choice((0, 9)), v=random.choice((-3, 33)))}")
        if form in _TRUTH_OPS:
            truths.append(f"%t{number}")
        elif form not in _REFUSED:
            integers.append(f"%t{number}")
    return body, integers, truths


# --- configurations ---------------------------------------------------------------------------------------------------


def _int_knob(name: str) -> str:
    return f'#iree_codegen.smt.int_knob<"{name}">'


def _one_of_knob(name: str, *options: str) -> str:
    return f'#iree_codegen.smt.one_of_knob<"{name}", [{", ".join(options)}]>'


_MFMA = "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"
_OTHER = "#iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>"
# Parts of a template with the knob {0}, and its values in a configuration; None: it has none.
_PARTS: tuple[tuple[Callable[[str], str], tuple[str | None, ...]], ...] = (
    (_int_knob, ("7", "-3 : i32", "true", "200 : i8", '"x"', "36893488147419103240 : i128")),
    (lambda name: f"[{_int_knob(name)}, 4]", ("[32, 4]", "[32, 4 : i16]", "[32, 5]", "[32]", "[32, 4, 4]")),
    (lambda name: f"[[{_int_knob(name)}], []]", ("[[6], []]", "[[6], [1]]", "[6, []]")),
    (lambda name: f"{{a = {_int_knob(name)}, b = true}}", ("{a = 3, b = true}", "{a = 3, b = true, c}", "{a = 3}")),
    (lambda name: _one_of_knob(name, "16", "32", "32"), ("16", "32", "32 : i32", "8", None)),
    (lambda name: _one_of_knob(name, _MFMA, _OTHER), (_MFMA, _OTHER, "16")),
    (lambda name: f"#iree_gpu.lowering_config<{{a = {_int_knob(name)}}}>", ("#iree_gpu.lowering_config<{a = 2}>", "2")),
    (lambda name: f'[{_int_knob(name)}, "x", unit, 1.0]', ('[5, "x", unit, 1.0]', '[5, "y", unit, 1.0]')),
)
_TRANSLATION_PARTS = (
    lambda name: f"workgroup_size = [{_int_knob(name)}, 1, 1]",
    lambda name: f"subgroup_size = {_one_of_knob(name, '0', '32', '64')}",
    lambda name: f"gpu_pipeline_options = {{prefetch_num_stages = {_int_knob(name)}, use_igemm_convolution = false}}",
)


def _configuration(random: Random) -> tuple[str, str, list[str]]:
    """Return the entries of a template and of a configuration, and the names of the knobs."""
    template: list[str] = []
    config: list[str] = []
    knobs: list[str] = []
    for key, (part, values) in zip("pqrs", random.sample(_PARTS, random.randrange(4)), strict=False):
        knobs.append(f"k{len(knobs)}")
        template.append(f"{key} = {part(knobs[-1])}")
        # Mostly valid values.
        value = values[0] if random.random() < 0.8 else random.choice(values)
        if value is not None and random.random() > 0.02:
            config.append(f"{key} = {value}")
    if random.random() < 0.5:
        knobs.append(f"k{len(knobs)}")
        template.append(random.choice(_TRANSLATION_PARTS)(knobs[-1]))
    return ", ".join(template), ", ".join(config), knobs


def _translation(random: Random) -> str:
    sizes = random.choice(
        ("", " workgroup_size = [64, 1, 1]", " workgroup_size = [64, 1, 1]", " workgroup_size = [64]")
    )
    options = random.choice(("prefetch_num_stages = 2", "use_igemm_convolution = true", "prefetch_num_stages = 1"))
    more = f", {{gpu_pipeline_options = #iree_gpu.pipeline_options<{options}>}}" if random.random() < 0.5 else ""
    return f"{sizes}{random.choice(('', ' subgroup_size = 32', ' subgroup_size = 64'))}{more}"


def main() -> None:
    """Record modules again. Those that stop iree-opt by a division overflow are left out."""
    parser = argparse.ArgumentParser(
        prog="python -m corpora.constraints_iree",
        description="Record what IREE says of random constraints.",
    )
    parser.parse_args()
    tool = find_iree_opt()
    if tool is None:
        raise SystemExit("iree-opt is not installed (package iree-base-compiler); HALFULP_IREE_OPT names one")
    random = Random(SEED)
    texts = [program(random) for _ in range(COUNT)]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda text: ask(tool, text), texts))
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    rows = [(text, answer) for text, answer in zip(texts, said, strict=True) if answer is not None]
    data = json.dumps({"tool": version.strip(), "pipeline": PIPELINE, "modules": rows}, indent=0)
    RECORDED.write_bytes(gzip.compress(data.encode("utf-8"), mtime=0))


if __name__ == "__main__":
    main()
