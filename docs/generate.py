"""Write the generated parts of the pages in this folder: formats, special cases, profiles, ops, commands and the API.

A page marks the place of a part by a pair of comments with a name of `BLOCKS`. The text between them is replaced.
The last line of each page links the page that follows it in ``mkdocs.yml``. The man page ``halfulp.1`` is written
whole. ``make docs`` runs this before it builds the site. With ``--check`` no file is written: the pages that would
change are named.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import linecache
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from multiprocessing import get_context
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_overloads

import ball_widths
import error_examples
import man_page
import math_tables
import numpy as np
from tasks import SPELLED, TASKS, Task

import halfulp as hu
import halfulp.interp.dialects.stablehlo.ops  # first: tosa uses parts of it, and the tables have the order of loading
from halfulp.command import main as cli
from halfulp.command.ci_reports import RULES as RULES_OF_REPORTS
from halfulp.command.ci_reports import rule_of
from halfulp.conformance.comparing.tosa_bounds import RULES as BOUNDS
from halfulp.conformance.vectors.stimulus.grammar import LAWS
from halfulp.conformance.whole_programs.pass_differences import symptoms
from halfulp.fp_formats.aliases import AMBIGUOUS, TYPE_ALIASES
from halfulp.fp_formats.policy import MISLEADING_ROUNDINGS, ROUNDING_ALIASES
from halfulp.interp.declare.declarations import Trait, TypeConstraint
from halfulp.interp.declare.registry import default_registry
from halfulp.semantics.block_scaling import RECIPES
from halfulp.semantics.fixed_point import OVERFLOWS, QUANTIZATIONS
from halfulp.semantics.matrix_units.accumulator import OWN
from halfulp.semantics.matrix_units.chips import CHIPS, INFERRED, PRODUCTS, PUBLISHED, RECORDED, UNMODELLED, Row
from halfulp.semantics.matrix_units.kinds import KINDS, operation_of
from halfulp.semantics.matrix_units.models import supports
from halfulp.semantics.profile import PROFILE_FIELDS
from halfulp.semantics.requantization import RULES

FOLDER = Path(__file__).parent
ROOT_PAGES = {"architecture.md": "ARCHITECTURE.md", "contributing.md": "CONTRIBUTING.md"}
"""Pages of the site that stand in the root of the repository, as in `root_pages`."""
# The recorded answers of real tools are data of the tests.
sys.path.append(str(FOLDER.parent / "tests"))
from corpora import findings, pass_results, reports, text_results  # noqa: E402


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


# --- formats ----------------------------------------------------------------------------------------------------------

NAN = {
    hu.register.NanEncoding.IEEE: "IEEE",
    hu.register.NanEncoding.ALL_ONES: "all ones",
    hu.register.NanEncoding.NEGATIVE_ZERO: "0x80 only",
    hu.register.NanEncoding.NONE: "none",
}


def float_formats() -> str:
    """Return the table of all formats and their fields."""
    head = "type|bits|sign|exponent|mantissa|bias|infinities|NaN|zero|min/max exponent|largest code"
    rows = [
        [
            fmt.name,
            *(str(int(n)) for n in (fmt.bits, fmt.signed, fmt.exponent_bits, fmt.mantissa_bits, fmt.bias)),
            "yes" if fmt.infinities else "no",
            NAN[fmt.nan],
            "none" if not fmt.zero else "±0" if fmt.has_negative_zero else "+0",
            f"{fmt.emin} / {fmt.emax}",
            f"`0x{fmt.max_code:X}`",
        ]
        for fmt in hu.float_formats.values()
    ]
    return table(head.split("|"), rows)


def names_of_types() -> str:
    """Return the names that people type for each type."""
    rows = ([name, ", ".join(f"`{alias}`" for alias in aliases)] for name, aliases in TYPE_ALIASES.items())
    return table(["type", "other names"], rows)


def requantisation_rules() -> str:
    """Return the rules of requantisation, and the shifts that they take."""
    rows = ([f"`{name}`", rule.meaning, f"{rule.shifts[0]} to {rule.shifts[1]}"] for name, rule in RULES.items())
    return table(["rule", "what it computes", "shift"], rows)


def tosa_bounds() -> str:
    """Return the rules of TOSA's bounds, and their operators."""
    rows = (
        [f"`{name}`", ", ".join(f"`{operator}`" for operator in rule.operators), rule.words]
        for name, rule in BOUNDS.items()
    )
    return table(["Rule", "Operators", "Bound"], rows)


def fixed_point_modes() -> str:
    """Return the modes of fixed-point formats."""
    rows = [[f"`{name}`", "rounding", rule.meaning] for name, rule in QUANTIZATIONS.items()]
    return table(["mode", "of", "meaning"], [*rows, *([f"`{k}`", "overflow", text] for k, text in OVERFLOWS.items())])


def ambiguous_names() -> str:
    """Return the names that are refused, and the types that they may mean."""
    rows: dict[str, list[str]] = {}
    for name, types in AMBIGUOUS.items():
        meaning = "<br>".join(f"{type_}: {text}" for type_, text in types.items())
        rows.setdefault(meaning, []).append(f"`{name}`")
    return table(["name", "it may mean"], ([", ".join(names), meaning] for meaning, names in rows.items()))


def rounding_names() -> str:
    """Return the other names of each rounding mode."""
    rows = (
        [f"`{mode.spelling}`", ", ".join(f"`{name}`" for name in ROUNDING_ALIASES[mode])] for mode in ROUNDING_ALIASES
    )
    return table(["keyword", "other names"], rows)


def distributions() -> str:
    """Return the distributions of operands, with their parameters."""
    rows = (
        [f"`{name}`", ", ".join(f"`{key}={value:g}`" for key, value in law.parameters.items())]
        for name, law in LAWS.items()
    )
    return table(["distribution", "parameters, with their usual values"], rows)


def misleading_roundings() -> str:
    """Return the names of rounding modes that are refused, and why."""
    return table(["name", "why"], ([f"`{name}`", why] for name, why in MISLEADING_ROUNDINGS.items()))


# --- elementary functions ---------------------------------------------------------------------------------------------


def functions() -> str:
    """Return the table of the functions of one argument."""
    return table(*math_tables.of_one_argument())


def functions_of_two() -> str:
    """Return the special cases of the functions of two arguments, in words and as tables of f32."""
    parts = []
    for name, function in math_tables.FUNCTIONS_OF_TWO.items():
        cases = "".join(f"{k}. {words}\n" for k, words in enumerate(math_tables.special_cases(function), 1))
        legend = f"`{name}({', '.join(function.operands)})`: {math_tables.formula_text(function)}."
        parts.append(f"{legend}\n\n{cases}\n{table(*math_tables.results_of_two(function))}")
    return "\n".join(parts)


def exact_results() -> str:
    """Return the table of the arguments with rational results."""
    return table(*math_tables.exact_results())


# --- special cases ----------------------------------------------------------------------------------------------------


def elements(value: hu.Value) -> list[str]:
    """Return the elements of a value as halfulp prints them."""
    return str(value).partition("=")[2].rstrip(")").split()


SPECIAL = np.array([-np.inf, -1, -0.0, 0, 1, np.inf, np.nan], np.float32)
OPS = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")


def special_operands() -> str:
    """Return the results of the float ops with two operands for zeros, infinities and NaN."""
    names = elements(hu.convert(SPECIAL, to="f32"))
    parts = []
    for op in OPS:
        rows = []
        for name, left in zip(names, SPECIAL, strict=True):
            results = hu.eval(f"arith.{op}", np.full_like(SPECIAL, left), SPECIAL)
            rows.append([f"**{name}**", *elements(results)])
        legend = f"`arith.{op}`. Rows: the first operand. Columns: the second operand."
        parts.append(f"{legend}\n\n{table(['', *names], rows)}")
    return "\n".join(parts)


INPUTS = np.array([np.nan, np.inf, -np.inf, np.finfo(np.float32).max, -1, 0, -0.0, 1e-40], np.float32)


def special_conversions() -> str:
    """Return the results of converting special values of f32 to each narrower format."""
    rows = [
        [fmt.name, *elements(hu.convert(INPUTS, to=fmt.name))] for fmt in hu.float_formats.values() if fmt.bits < 32
    ]
    return table(["from f32", *elements(hu.convert(INPUTS, to="f32"))], rows)


# --- profiles ---------------------------------------------------------------------------------------------------------


def profiles() -> str:
    """Return the value of each field in `spec`, and the profiles that have another value."""
    spec, *others = hu.profiles.items()
    rows = []
    for field in PROFILE_FIELDS:
        value = getattr(spec[1], field)
        other = [f"`{name}`: {getattr(profile, field)}" for name, profile in others if getattr(profile, field) != value]
        rows.append([f"`{field}`", value, "<br>".join(other)])
    return table(["field", "in `spec`", "in other profiles, where different"], rows)


def profile_fields() -> str:
    """Return what each field of a profile decides, and what its values mean."""
    rows = []
    for field, choice in PROFILE_FIELDS.items():
        meanings = (f"`{value}`: {markdown(meaning)}" for value, meaning in choice.meanings.items())
        rows.append([f"`{field}`", markdown(choice.subject), "<br>".join(meanings)])
    return table(["field", "what it decides", "its values, that of `spec` first"], rows)


# --- matrix units -----------------------------------------------------------------------------------------------------

UNKNOWN = {
    "all": "",
    "nan": "infinities not published",
    "none": "infinities and NaN not published",
    "normal": "infinities, NaN and subnormal sums not published",
}
NOTES: Mapping[str, Any] = {
    "fraction": lambda rule: f"results have {rule.fraction} fraction bits" if rule.fraction is not None else "",
    "dot": lambda rule: (
        f"{rule.dot} products with one scale are added exactly and count as one; signs of scales are ignored"
        if rule.dot != 1
        else ""
    ),
    "steps": lambda rule: (
        f"A and B are converted to {rule.steps}; of {2 * rule.order} neighbouring k the first {rule.order} are added "
        "first; C is added at the end, rounded to nearest even"
        if rule.steps != OWN
        else ""
    ),
    "tree": lambda rule: "even and odd k are added separately" if rule.tree == "even_odd" else "",
    "c_shifter": lambda rule: (
        f"C counts as 0 if it is more than {rule.c_shifter} binades below" if rule.c_shifter is not None else ""
    ),
    "flush": lambda rule: "subnormals count as zeros" if rule.flush else "",
    "specials": lambda rule: UNKNOWN[rule.specials],
}


def how_it_adds(row: Row) -> str:
    """Return a word for the rule of an instruction; the page explains the words."""
    if row.results[0].startswith("i"):
        return "integer"
    if row.rule.chain:
        return "chain"
    return "tree" if row.rule.plain else "late" if row.rule.c == "last" else "fused"


def accumulator_fields() -> str:
    """Return the fields of an accumulator, with what each means."""
    head = ("field", "default", "meaning")
    rows = []
    for each in fields(hu.Accumulator):
        default = "none" if each.default is None else str(each.default).lower()
        choices = ", ".join(f"`{choice}`" for choice in each.metadata["choices"])
        values = f" ({choices})" if choices and len(each.metadata["choices"]) > 3 else ""
        rows.append((f"`{each.name}`", f"`{default}`", f"{markdown(each.metadata['meaning'])}{values}"))
    return table(head, rows)


def rules_of_chips() -> str:
    """Return the rules of the chips as accumulators, each once, with the chips that have it."""
    found: dict[str, list[str]] = {}
    for chip, members in CHIPS.items():
        for row in members:
            if how_it_adds(row) != "integer" and chip not in found.setdefault(row.rule.text, []):
                found[row.rule.text].append(chip)
    return table(("accumulator", "chips"), ((f"`{text}`", ", ".join(chips)) for text, chips in found.items()))


def matrix_units() -> str:
    """Return how each chip adds, by instruction."""
    rows = [
        [
            f"`chip:{chip}`" if number == 0 else "",
            row.unit,
            "; ".join(types.replace(",", " · ") for types in row.types),
            "; ".join(types.replace(",", " → ") for types in row.results),
            " ".join(row.shapes).replace("*", "N"),
            "; ".join(scale.replace(",", " per ") for scale in row.scales),
            how_it_adds(row),
            str(row.rule.group or "all") if how_it_adds(row) in ("fused", "late", "tree") else "",
            str(row.rule.bits or ""),
            "; ".join(filter(None, (note(row.rule) for note in NOTES.values()))),
        ]
        for chip, members in CHIPS.items()
        for number, row in enumerate(members)
    ]
    head = "model|instruction|A · B|C → D|MxNxK|scales|sum|products at a time|bits kept|notes"
    return table(head.split("|"), rows)


def products() -> str:
    """Return the names of products and of compilers' targets, by what their rows rest on."""
    rows = []
    for chip in CHIPS:
        named = [(f"`chip:{name}`", product) for name, product in PRODUCTS.items() if product.chip == chip]
        cells = [
            "<br>".join(
                f"{name}: {of.recorded:,} rows, {of.wrong} wrong" for name, of in named if of.basis == RECORDED
            ),
            *(" ".join(name for name, of in named if of.basis == basis) for basis in (PUBLISHED, INFERRED)),
        ]
        rows.append((f"`chip:{chip}`", *cells))
    return table(("rows", "recorded on the chip", "published model", "inferred from the architecture"), rows)


def unmodelled_products() -> str:
    """Return the names of products and of compilers' targets without a model, and why they have none."""
    rows = ((" ".join(f"`{name}`" for name in row.names), row.why, f"`chip:{row.nearest}`") for row in UNMODELLED)
    return table(("names", "why there is no model", "the nearest chip that has one"), rows)


def widths_of_balls() -> str:
    """Return the table of programs with known condition numbers, and how closely their exact results are known."""
    return table(ball_widths.HEAD, ball_widths.rows())


def block_recipes() -> str:
    """Return a table of the recipes of block scaling."""
    head = ("recipe", "block", "scales", "rule", "NaN and infinity", "a block of zeros")
    rows = (
        (f"`{recipe.name}`", str(recipe.block), recipe.scale.name, recipe.choice, recipe.not_finite, recipe.zeros)
        for recipe in RECIPES.values()
    )
    return table(head, rows)


def tile_kinds() -> str:
    """Return the kinds of tiles with their shapes, and the chips whose results for them are known."""
    rows = []
    for kind in KINDS.values():
        scaled = kind.block is not None
        # The program decides the types of a scaled kind. No chip computes any scaled kind.
        operation = operation_of(kind, "f8E4M3FN", "f8E4M3FN") if scaled else operation_of(kind)
        shape = "x".join(map(str, kind.shape))
        rows.append(
            [
                f"`{kind.name}`",
                f"{shape}, {kind.blocks} blocks" if kind.blocks > 1 else shape,
                "floats, scaled → f32" if scaled else f"{kind.types[0]} · {kind.types[1]} → {kind.types[2]}",
                str(kind.lanes) if kind.layouts else "undistributed only",
                "yes" if supports("exact", operation) else "no",
                ", ".join(chip for chip in CHIPS if supports(f"chip:{chip}", operation)) or "–",
            ]
        )
    return table(["kind", "MxNxK", "A · B → C", "lanes", "exact, ieee", "chip:"], rows)


# --- ops --------------------------------------------------------------------------------------------------------------


def described(constraint: TypeConstraint) -> str:
    """Return MLIR's description of a type, with the words that MLIR leaves out in some of them."""
    text = constraint.description
    if text == "":
        return f"`{constraint.builds}`" if constraint.builds else "any type"
    if text.startswith(" "):
        return f"vector{text}".replace("ranks 1", "rank 1")
    return f"{text}`!shape.value_shape`" if text.endswith(" or ") else text


def ops() -> str:
    """Return all ops of the built-in dialects. A dialect with only types and attributes has no table."""
    parts = []
    for dialect in default_registry().dialects.values():
        rows = [
            [
                f"`{op.name}`",
                ", ".join(f"{slot.name}: {described(slot.constraint)}" for slot in op.operands),
                ", ".join(f"`{prop.name}`" for prop in op.properties),
            ]
            for op in dialect.ops.values()
        ]
        # A symbol is called, not evaluated: it needs no evaluator.
        active = [op for op in dialect.ops.values() if Trait.SYMBOL not in op.traits]
        idle = [f"`{op.name}`" for op in active if not op.evaluate]
        which = "" if len(idle) == len(active) else f": {', '.join(idle)}"
        note = f"halfulp verifies these ops, but does not run them{which}.\n\n" if idle else ""
        if rows:
            parts.append(f"## {dialect.name}\n\n{note}{table(['op', 'operands', 'properties'], rows)}")
    return "\n".join(parts)


# --- command line -----------------------------------------------------------------------------------------------------


def commands() -> str:
    """Return every command with its arguments, read from the argument parser."""
    parts, epilogs = [], dict[str, str]()
    for name, place in cli.COMMANDS.items():
        command, summary = cli.command_parser(name), place.summary
        parts.append(f"## {name}\n\n{markdown(summary[0].upper() + summary[1:])}.\n")
        if command.description and command.description.rstrip(".") != summary:
            parts.append(f"```text\n{command.description.strip()}\n```\n")
        parts.append(table(["argument", "meaning"], map(row, man_page.arguments_of(command))))
        epilog = (command.epilog or "").strip()
        first = epilogs.setdefault(epilog, name)
        if first != name:
            what = "Inputs, outputs and exit codes" if "inputs:" in epilog else "Exit codes"
            parts.append(f"{what} are the same as for [{first}](#{first.replace(' ', '-')}).\n")
        elif epilog:
            parts.append(f"```text\n{epilog}\n```\n")
    return "\n".join(parts)


def row(argument: man_page.Argument) -> list[str]:
    """Return the table row of an option or argument: its spelling and its help."""
    value = f" {argument.value}" if argument.value else ""
    spelling = ", ".join(f"`{option}{value}`" for option in argument.names) or f"`{argument.value}`"
    return [spelling, markdown(argument.help)]


# --- API --------------------------------------------------------------------------------------------------------------


def markdown(text: str) -> str:
    """Return a docstring as Markdown: single backticks, a field of a list as an item, and `<` and `*` escaped."""
    text = re.sub(r"``(.+?)``", r"`\1`", inspect.cleandoc(text))
    lines: list[str] = []
    for line in text.splitlines():
        after_blank = not lines or not lines[-1]
        if after_blank and line.startswith("- ") and len(lines) > 1 and lines[-2].startswith(("- ", "  ")):
            line = f"  {line}"  # a list that belongs to the item before it
        if re.match(r"`[\w*]+`(, `\w+`)*: ", line):
            if lines and not after_blank and not lines[-1].startswith(("- ", "  ")):
                lines.append("")
            line = f"- {line}"
        elif lines and re.match(r"- |  (?!  )", lines[-1]) and line.strip():
            line = f"  {line.strip()}"
        elif not after_blank and not lines[-1].startswith("    "):
            line = line.strip()
        lines.append(line)
    outside = re.compile(r"(`[^`]*`|^    .*$)", re.MULTILINE)
    parts = outside.split("\n".join(lines))
    return "".join(part if k % 2 else re.sub(r"[<*]", r"\\\g<0>", part) for k, part in enumerate(parts))


DESCRIPTORS = (property, cached_property)


class _Plain(str):
    """An annotation without quotes in a signature."""

    __repr__ = str.__str__


def signature(name: str, what: Any, width: int | None = 100) -> str:
    """Return a call as a user writes it: on one line if it fits, else one parameter per line."""
    found = inspect.signature(what)
    parameters = [
        parameter.replace(annotation=_Plain(parameter.annotation))
        for parameter in found.parameters.values()
        if parameter.name != "self"
    ]
    returns = "" if isinstance(what, type) else f" -> {found.return_annotation}"
    plain = found.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    line = f"{name}{spelled(str(plain))}{returns}"
    if width is None or len(line) <= width:
        return line
    parts = [spelled(str(parameter)) for parameter in parameters]
    # The bare star is not a parameter itself.
    star = next((k for k, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY), None)
    if star is not None and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        parts.insert(star, "*")
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"


def spelled(text: str) -> str:
    """Spell defaults as a user writes them: `<Schema.MLIR22: 22>` becomes Schema.MLIR22."""
    return re.sub(r"<([\w.]+): [^>]+>", r"\1", text)


def attribute_docstring(name: str) -> str:
    """Return the string below the assignment of a constant of the package."""
    home, attribute = hu._home(name)
    body = ast.parse(inspect.getsource(import_module(home))).body
    for statement, following in pairwise(body):
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == attribute for target in targets):
            assert isinstance(following, ast.Expr), f"{home}.{attribute} has no docstring"
            return str(ast.literal_eval(following.value))
    raise LookupError(f"{home} has no {attribute}")


def members(cls: type) -> Iterator[str]:
    """Yield the public members of a class that have a docstring: methods and properties."""
    # Methods that a class has from another one of halfulp are its own, unless that one is public too.
    homes = [each for each in cls.__mro__ if each is cls or is_hidden(each)]
    for name in dict.fromkeys(name for each in homes for name in vars(each)):
        what = getattr(cls, name)
        doc = inspect.getdoc(what) if callable(what) or isinstance(what, DESCRIPTORS) else None
        if doc and not name.startswith("_"):
            yield f"- `{signature(name, what, width=None) if callable(what) else name}`: {one_line(doc)}\n"


@cache
def public_names() -> list[str]:
    """Return the public names that the page describes: in place of a namespace, but for that of pictures, its names."""
    found = []
    for name in hu.__all__:
        value = getattr(hu, name)
        if not inspect.ismodule(value) or name == "plot":
            found.append(name)
        else:
            own = (part for part in value.__all__ if getattr(value, part) is not getattr(hu, part, None))
            found += [f"{name}.{part}" for part in own]
    return found


def is_hidden(cls: type) -> bool:
    """Tell whether a class is of halfulp, but has no public name."""
    return cls.__module__.startswith("halfulp") and cls.__name__ not in {name.split(".")[-1] for name in public_names()}


def one_line(doc: str) -> str:
    """Return the first paragraph of a docstring."""
    return markdown(" ".join(doc.partition("\n\n")[0].split()))


def entry(name: str) -> str:
    """Return the section of a public name: its call and its docstring."""
    what = attrgetter(name)(hu)
    head = f"### {name}\n\n"
    if inspect.isfunction(what):
        return f"{head}```python\n{signature(f'hu.{name}', what)}\n```\n\n{markdown(what.__doc__ or '')}\n"
    if inspect.ismodule(what):
        calls = {each: getattr(what, each) for each in public(what)}
        doc = (what.__doc__ or "").partition("\n\n")[0]
        parts = [f"#### {name}.{each}\n\n```python\n{signature(f'hu.{name}.{each}', call)}\n```\n\n"
                 f"{markdown(call.__doc__ or '')}\n" for each, call in calls.items()]  # fmt: skip
        return f"{head}{markdown(doc)}\n\n" + "\n".join(parts)
    if not isinstance(what, type):
        return f"{head}{markdown(attribute_docstring(name))}\n"
    if issubclass(what, Enum):
        cases = ", ".join(f"`{case.name}`" for case in what)
        return f"{head}{markdown(what.__doc__ or '')}\n\nCases: {cases}.\n"
    listed = list(members(what))
    body = f"{markdown(what.__doc__ or '')}\n" + ("\n" + "".join(listed) if listed else "")
    if issubclass(what, Exception):
        derived = f"Derived from `{what.__bases__[0].__name__}`."
        if not issubclass(what, hu.HalfulpError):
            return f"{head}{body}\n{derived}\n"
        return f"{head}{body}\n{derived} Code `{what.code}`, exit code {what.exit_code} on the command line.\n"
    return f"{head}```python\n{signature(f'hu.{name}', what)}\n```\n\n{body}"


def public(module: Any) -> list[str]:
    """Return the names of the functions that a module exports."""
    return [name for name in module.__all__ if inspect.isfunction(getattr(module, name))]


def heading(title: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def contents() -> str:
    """Return the table of the tasks, with links to their names."""
    rows = [
        [f"[{task.title}](#{heading(task.title)})", ", ".join(f"[`{name}`](#{heading(name)})" for name in known(task))]
        for task in TASKS
    ]
    return table(["you want to", "names"], rows)


def known(task: Task) -> list[str]:
    """Return the names of a task that are public."""
    return [name for name in task.names if name in public_names()]


def hidden(what: Any) -> list[type]:
    """Return the classes of halfulp without a public name that a call returns, or that an attribute has."""
    function = next((found for inner in ("fget", "func", "__func__") if (found := getattr(what, inner, None))), what)
    if not inspect.isfunction(function):
        return []
    function = inspect.unwrap(function)
    calls = get_overloads(function) or [function]
    words = re.findall(r"\w+", " ".join(str(inspect.signature(call).return_annotation) for call in calls))
    found = [function.__globals__.get(word) for word in dict.fromkeys(words)]
    return [each for each in found if isinstance(each, type) and is_hidden(each) and not issubclass(each, Enum)]


def returned(name: str) -> Iterator[tuple[str, type]]:
    """Yield the calls and attributes of a public name that return a class without a public name, and this class."""
    what = attrgetter(name)(hu)
    parts: Iterable[str] = public(what) if inspect.ismodule(what) else dir(what) if isinstance(what, type) else ()
    calls = {f"hu.{name}": what} | {
        f"hu.{name}.{each}": inspect.getattr_static(what, each) for each in parts if each[0] != "_"
    }
    for call, found in calls.items():
        for cls in hidden(found):
            yield call, cls


def nameless(cls: type, call: str) -> str:
    """Return the section of a class that has no public name."""
    listed = "".join(members(cls))
    doc = f"`{call}` returns objects of this class.\n\n{markdown(cls.__doc__ or '')}\n"
    return f"#### {cls.__name__}\n\n{doc}" + (f"\n{listed}" if listed else "")


def examples(task: Task) -> dict[str, str]:
    """Return the programs of a task by their names."""
    start = {True: "import numpy as np\n\nimport halfulp as hu\n", False: "import halfulp as hu\n"}
    return {name: start["np." in task.names[name]] + task.names[name] for name in known(task) if task.names[name]}


def output(program: str) -> str:
    """Return what a program prints."""
    printed = io.StringIO()
    # Triton reads the source of a kernel.
    linecache.cache["example.py"] = len(program), None, program.splitlines(keepends=True), "example.py"
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "example.py", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def outputs(programs: list[str]) -> dict[str, str]:
    """Run programs in a process of their own, as they may register ops, and in an empty folder with ``examples/``."""
    with TemporaryDirectory() as folder:
        Path(folder, "examples").symlink_to(FOLDER.parent / "examples")
        with ProcessPoolExecutor(1, get_context("spawn"), os.chdir, (folder,)) as process:
            return dict(zip(programs, process.map(output, programs), strict=True))


def runs_here(task: Task) -> bool:
    """Tell whether the packages are installed that the examples of a task need."""
    return all(find_spec(package.partition(".")[0]) and find_spec(package) for package in task.needs)


def shown(name: str) -> str:
    """Return what the example of a name prints, as the page has it."""
    section = (FOLDER / "api.md").read_text(encoding="utf-8").partition(f"\n### {name}\n")[2].partition("\n### ")[0]
    return section.partition("```text\n")[2].partition("```\n")[0]


def api() -> str:
    """Return the sections of all public names, by task."""
    printed = outputs([program for task in TASKS if runs_here(task) for program in examples(task).values()])
    parts, described = [contents()], set[type]()
    for task in TASKS:
        parts.append(f"## {task.title}\n\n{task.intro}\n")
        for name in known(task):
            parts.append(entry(name))
            if program := examples(task).get(name):
                parts.append(f"```python\n{program}```\n\n```text\n{printed.get(program, shown(name))}```\n")
            for call, cls in returned(name):
                if cls not in described:
                    described.add(cls)
                    parts.append(nameless(cls, call))
    spelled = [[", ".join(f"`{word}`" for word in words.split(", ")), what] for words, what in SPELLED.items()]
    parts.append(f"## Words in signatures\n\n{table(['word', 'what to give, or what it is'], spelled)}")
    return "\n".join(parts)


# --- errors -----------------------------------------------------------------------------------------------------------


def kinds_of_errors(kind: type[hu.HalfulpError] = hu.HalfulpError) -> Iterator[type[hu.HalfulpError]]:
    """Yield a class of errors and those below it, in the order of their definition, if they have their own code."""
    if "code" in vars(kind):
        yield kind
    for below in kind.__subclasses__():
        yield from kinds_of_errors(below)


CAUGHT = """import halfulp as hu
try:
    {}
except hu.HalfulpError as error:
    print(error.code, error, sep="\\n")
"""
VERSIONS = re.compile(r"\d+\.\d+\.\d+")


def error_codes() -> str:
    """Return a section for each kind of error."""
    page = (FOLDER / "error-codes.md").read_text(encoding="utf-8")
    programs = {code: CAUGHT.format(example) for code, example in error_examples.EXAMPLES.items()}
    printed = outputs(list(programs.values()))
    parts = []
    for kind in kinds_of_errors():
        name, meaning, advice = rule_of(kind)
        above = kind.__bases__[0]
        derived = f", derived from `{above.__name__}`" if above is not Exception else ""
        parts.append(
            f"## {name}\n\n{markdown(meaning)}\n\nClass `{kind.__name__}`{derived}; exit code {kind.exit_code}.\n"
        )
        if name in programs:
            code, _, text = printed[programs[name]].partition("\n")
            before = page.partition(f"\n## {name}\n")[2].partition("```text\n")[2].partition("```\n")[0]
            # Without mlir-opt, or with another version of it, the page keeps what is printed there.
            if name == error_examples.OF_MLIR and (code != name or VERSIONS.sub("", text) == VERSIONS.sub("", before)):
                code, text = name, before
            assert code == name, f"the example of {name} has the code {code}"
            parts.append(f"```python\n{error_examples.EXAMPLES[name]}\n```\n\n```text\n{text}```\n")
        parts.append(f"What to do: {advice}\n")
    return "\n".join(parts)


def rules_of_reports() -> str:
    """Return what a comparison finds without an error."""
    return table(
        ("rule", "meaning", "what to do"), ((f"`{rule.name}`", *rule[1:]) for rule in RULES_OF_REPORTS.values())
    )


# --- packages ---------------------------------------------------------------------------------------------------------


def dependencies() -> str:
    """Return the table of the packages that halfulp needs, with their lowest versions."""
    needed = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    named = (re.fullmatch(r"([\w-]+)>=([\d.]+)(?:; (.*))?", each) for each in needed)
    return table(("package", "lowest version", "if"), ((m[1], m[2], m[3] or "") for m in named if m))


# --- recorded results -------------------------------------------------------------------------------------------------


def mlir_tests() -> str:
    """Return the table of LLVM's tests."""
    return "\n".join(pass_results.table(pass_results.recorded()))


def public_reports() -> str:
    """Return the table of public reports, with the verdicts."""
    return "\n".join(reports.table(reports.recorded()))


def findings_in_mlir() -> str:
    """Return the table of the bugs, which reports of the search for bugs use too."""
    return table(("passes", "what is wrong", "upstream"), ((row.passes, row.what, row.upstream) for row in symptoms()))


def findings_by_version() -> str:
    """Return the table of the versions of MLIR that have each bug."""
    return "\n".join(findings.table(findings.recorded()))


def texts_of_llvm() -> str:
    """Return the table of the texts of LLVM's tests, read by mlir-opt 22."""
    return "\n".join(text_results.table(text_results.recorded("22")))


def texts_read_by_24() -> str:
    """Return the same table for MLIR 24."""
    return "\n".join(text_results.table(text_results.recorded("24")))


# --- pages ------------------------------------------------------------------------------------------------------------

BLOCKS = {
    make.__name__.replace("_", " "): make
    for make in (
        float_formats,
        names_of_types,
        ambiguous_names,
        distributions,
        rounding_names,
        misleading_roundings,
        functions,
        functions_of_two,
        exact_results,
        special_operands,
        special_conversions,
        profiles,
        profile_fields,
        block_recipes,
        requantisation_rules,
        tosa_bounds,
        fixed_point_modes,
        widths_of_balls,
        products,
        unmodelled_products,
        matrix_units,
        accumulator_fields,
        rules_of_chips,
        tile_kinds,
        ops,
        commands,
        error_codes,
        rules_of_reports,
        dependencies,
        api,
        mlir_tests,
        public_reports,
        findings_in_mlir,
        texts_of_llvm,
        texts_read_by_24,
        findings_by_version,
    )
}
IN_ORDER = re.compile(r"^ +- ([^:\n]+): (\S+\.md)$", re.MULTILINE)
"""A page in the order of ``mkdocs.yml``: its title and its file."""
LAST_LINE = re.compile(r"\n*(\nNext: \[.*\]\(.*\)\n?)?\Z")


def reading_order() -> dict[Path, str]:
    """Return the pages in the order of reading, each with its title."""
    nav = (FOLDER.parent / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return {FOLDER.parent / ROOT_PAGES.get(name, f"docs/{name}"): title for title, name in IN_ORDER.findall(nav)}


def ended(page: str, path: Path, following: Path, title: str) -> str:
    """Return a page that ends with a link to the page that follows it."""
    link = Path(os.path.relpath(following, path.parent)).as_posix()
    return LAST_LINE.sub("", page) + f"\n\nNext: [{title}]({link})\n"


MARK = re.compile(r"(<!-- generated: ([\w ]+) -->\n).*?(<!-- end of \2 -->\n)", re.DOTALL)


def renewed(page: str) -> str:
    """Return a page with its generated parts made again."""
    return MARK.sub(lambda mark: f"{mark[1]}\n{BLOCKS[mark[2]]().strip()}\n\n{mark[3]}", page)


def main() -> int:
    """Write the pages. With ``--check``, name the pages that would change instead, and return 1 if there are any."""
    check = sys.argv[1:] == ["--check"]
    old = []
    titles = reading_order()
    first, *others = titles
    after = dict(zip(titles, [*others, first], strict=True))
    for path in (*titles, FOLDER / "halfulp.1"):
        page = path.read_text(encoding="utf-8")
        following = after.get(path)
        new = man_page.text() if following is None else ended(renewed(page), path, following, titles[following])
        if new != page:
            old.append(path.name)
            if not check:
                path.write_text(new, encoding="utf-8")
    if check and old:
        print(f"these pages differ from the code: {', '.join(old)}; run `python docs/generate.py` to write them again")
    return int(check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
