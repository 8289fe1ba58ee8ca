"""README and docs/: programs and commands print what is shown, what was generated is what the code says, links lead somewhere.

The site is built once, from a copy of docs/, as ``make docs`` builds it; what a browser would ask of a network is looked for
in all its pages.
"""

from __future__ import annotations

import argparse
import builtins
import html.parser
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from operator import attrgetter
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest
from documents import DOCS, GENERATED, README, commands, pages, printed_by, programs, shown_commands, written
from tree import ROOT, pyproject

import halfulp as hu
from halfulp.command import main as cli
from halfulp.explorer.notebook import page as explore_page
from halfulp.interp.declare.registry import MODULES, default_registry
from halfulp.semantics.profile import PROFILE_FIELDS

pytestmark = pytest.mark.lint

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext
    from playwright.sync_api import Page as PageView

# Pages whose examples have tests of their own, and those tests.
ELSEWHERE = {
    "datapaths.md": "tests/api/command/test_datapaths_page.py",
    "findings.md": "tests/corpora/test_findings_page.py",
    "plots.md": "tests/api/test_plot.py",
    "sweeps.md": "tests/api/command/test_sweep.py",
    "trace.md": "tests/api/traces/test_trace.py",
    "vector-files.md": "tests/api/command/test_vectors.py",
    "vector-format.md": "tests/conformance/oracles/test_vector_format.py",
}
HERE = [page for page in pages() if page.name not in ELSEWHERE]


def test_pages_that_are_tested_elsewhere_are() -> None:
    for page, test in ELSEWHERE.items():
        assert f'"{page}"' in (ROOT / test).read_text(encoding="utf-8")
        assert (DOCS / page).is_file()


# --- examples ---------------------------------------------------------------------------------------------------------

NEEDS = {"from-jax.md": ("jax",), "from-pytorch.md": ("onnx", "torch", "torch_mlir"), "from-triton.md": ("triton",)}
"""Pages that need extras, and the markers of these."""
PROGRAMS = [(page.name, k, *program) for page in HERE if page.name not in NEEDS for k, program in enumerate(programs(page))]  # fmt: skip


@pytest.mark.parametrize(("page", "code", "printed"), [(p, c, t) for p, _, c, t in PROGRAMS], ids=[f"{p}-{k}" for p, k, _, _ in PROGRAMS])  # fmt: skip
def test_programs_print_what_is_shown(page: str, code: str, printed: str) -> None:
    assert printed_by(code, page) == printed


MARKED = [pytest.param(name, id=name, marks=[getattr(pytest.mark, each) for each in NEEDS[name]]) for name in NEEDS]


@pytest.mark.parametrize("page", MARKED)
# The exporter of PyTorch 2.13 uses what PyTorch has declared old.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_pages_that_need_extras(
    page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The programs of such a page go on from one another, and its commands read their files."""
    if "onnx" in NEEDS[page]:
        pytest.importorskip("onnxscript", reason="torch.onnx.export needs it (the extra onnx has it)")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    found = programs(DOCS / page)
    for k, (code, _) in enumerate(found):
        file = Path(f"program{k}.py")  # Triton reads the source of a kernel
        file.write_text(code, encoding="utf-8")
        exec(compile(code, str(file), "exec"), names)
    assert capsys.readouterr().out == "".join(printed for _, printed in found)
    for line, printed in commands(DOCS / page):
        assert cli.main(shlex.split(line)) == 0
        captured = capsys.readouterr()
        assert captured.out + captured.err == printed


def test_programs_were_found() -> None:
    assert len(PROGRAMS) >= 12
    assert {"README.md", "index.md", "extending.md"} <= {page for page, *_ in PROGRAMS}


WITH_COMMANDS = [page for page in HERE if commands(page) and page.name not in NEEDS]


DIFFERENCES = (" different", "  DIFFERENT", ": expected ", ": FAILS: ")
"""The output of commands that exit with 1."""
SECONDS = re.compile(r"\(\d+\.\d\d s\)")
"""How long a stage took, which is another number each time."""


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=[page.name for page in WITH_COMMANDS])
def test_commands_print_what_is_shown(
    page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for line, printed in commands(page):
        code = cli.main(shlex.split(line))
        captured = capsys.readouterr()
        assert (line, SECONDS.sub("", captured.out + captured.err)) == (line, SECONDS.sub("", printed))
        assert code == (4 if "undefined" in printed else int(any(word in printed for word in DIFFERENCES)))


def test_commands_were_found() -> None:
    assert {"README.md", "index.md", "explain.md", "bytecode.md"} <= {page.name for page in WITH_COMMANDS}


SHOWN = [(page.name, line) for page in pages() for line in shown_commands(page)]


@pytest.mark.parametrize(("page", "line"), SHOWN, ids=[f"{page}-{line[:40]}" for page, line in SHOWN])
def test_commands_that_are_only_shown_are_commands(page: str, line: str) -> None:
    words = shlex.split(re.sub(r"\$\w+", "0", re.split(r"\s[|>]\s|\s&$", line)[0]), comments=True)
    cli.parse(words)


def test_commands_that_are_only_shown_were_found() -> None:
    assert {"differential-testing.md", "sweeps.md"} <= {page for page, _ in SHOWN}


# --- what is generated ------------------------------------------------------------------------------------------------


@pytest.mark.added
def test_generated_parts_are_what_the_code_says() -> None:
    """In a process of its own: here other tests have registered ops."""
    done = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert (done.returncode, said) == (0, ""), said


def generated(page: str) -> str:
    """Return the generated parts of a page."""
    return "".join(found[0] for found in GENERATED.finditer((DOCS / page).read_text(encoding="utf-8")))


def subcommands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    return {name: cli.command_parser(name) for name in cli.COMMANDS}


def test_generated_parts_name_everything() -> None:
    formats, profiles, ops, lines, api = map(
        generated, ("formats.md", "profiles.md", "ops.md", "command-line.md", "api.md")
    )
    for name, fmt in hu.float_formats.items():
        row = f"| {name} | {fmt.bits} | {int(fmt.signed)} | {fmt.exponent_bits} | {fmt.mantissa_bits} | {fmt.bias} |"
        assert row in formats
    for field, choice in PROFILE_FIELDS.items():
        assert profiles.count(f"| `{field}` |") == 2
        assert all(f"`{value}`" in profiles for value in choice.values)
    # A profile that has no field of its own is in no generated part.
    named = (DOCS / "profiles.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in named for name in hu.profiles)
    assert all(f"`{op}`" in ops for name in MODULES for op in default_registry().dialects[name].ops)
    commands_of = subcommands()
    assert re.findall(r"^## (.*)$", lines, re.MULTILINE) == list(commands_of)
    manual = (DOCS / "halfulp.1").read_text(encoding="utf-8")
    requests = set(re.findall(r"^[.'].\S*", manual, re.MULTILINE))
    assert requests == {'.\\"', ".TH", ".SH", ".TP", ".PP", ".EX", ".EE", ".br"}  # nothing of a help text is one
    assert re.findall(r'^\.SH "HALFULP (.*)"$', manual.replace("\\", ""), re.MULTILINE) == list(
        map(str.upper, commands_of)
    )
    for name, command in commands_of.items():
        section = lines.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert all(
            f"`{option}" in section and f"\\fB{option}".replace("-", r"\-") in manual
            for option, action in command._option_string_actions.items()
            if action.dest != "help" and action.help != argparse.SUPPRESS
        )
    assert sorted(re.findall(r"^### (.*)$", api, re.MULTILINE)) == sorted(DESCRIBED)


# --- the Python API by task -------------------------------------------------------------------------------------------

DATA = runpy.run_path(str(DOCS / "tasks.py"))
TASKS: tuple[Any, ...] = DATA["TASKS"]
NAMESPACES = ("errors", "fixed", "iree", "p3109", "quant", "register")
DESCRIBED = set(hu.__all__) - set(NAMESPACES) | {
    f"{space}.{name}"
    for space in NAMESPACES
    for name in getattr(hu, space).__all__
    if getattr(getattr(hu, space), name) is not getattr(hu, name, None)
}
EXAMPLES = {name: example for task in TASKS for name, example in task.names.items()}


@pytest.mark.added
def test_every_public_name_belongs_to_one_task() -> None:
    assert sum(len(task.names) for task in TASKS) == len(EXAMPLES)
    assert set(EXAMPLES) == DESCRIBED, "give the name a task and an example in docs/tasks.py"


def test_every_name_has_an_example_but_errors() -> None:
    without = {name for name, example in EXAMPLES.items() if not example}
    assert all(issubclass(attrgetter(name)(hu), Exception | Warning) for name in without)
    text = generated("api.md")
    for name, example in EXAMPLES.items():
        assert example in text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        assert f"hu.{name}" in example or isinstance(attrgetter(name)(hu), type)


SIGNATURE = re.compile(r"^```python\n(hu\.[\w.]+\(.*?)^```|^- `(\w+\(.*?\) -> [^`]*)`", re.DOTALL | re.MULTILINE)
KNOWN = {"AbstractContextManager", "Any", "ArrayLike", "Callable", "Fraction", "Iterable", "Iterator", "Literal", "Mapping", "MaskedArray", "NDArray", "Path", "Sequence", "Generator", "PathLike"}  # fmt: skip
"""Words in signatures that are Python's and NumPy's."""


def test_every_word_in_a_signature_is_explained() -> None:
    text = generated("api.md")
    signatures = " ".join("".join(found) for found in SIGNATURE.findall(text))
    words = set(re.findall(r"\b[A-Z][a-z]\w*", re.sub(r"'[^']*'", "", signatures)))
    spelled = set(re.findall(r"\w+", " ".join(DATA["SPELLED"])))
    described = set(re.findall(r"^#{3,4} (?:\w+\.)?(\w+)$", text, re.MULTILINE))
    assert {"Value", "Rounding", "Profile"} <= words
    assert {word for word in words - spelled - described - KNOWN if not hasattr(builtins, word)} == set()


def test_classes_without_a_public_name_are_described() -> None:
    text = generated("api.md")
    described = set(re.findall(r"^#### (\w+)$", text, re.MULTILINE))
    assert {"RoundingExplanation", "Origin", "CodeFields", "Surroundings", "ErrorReport"} <= described
    assert not described & {name.split(".")[-1] for name in DESCRIBED}


# --- changes ----------------------------------------------------------------------------------------------------------


def test_each_file_of_changes_is_one_line_of_a_known_kind() -> None:
    kinds = "|".join(kind["directory"] for kind in pyproject()["tool"]["towncrier"]["type"])
    for file in (ROOT / "changes").iterdir():
        assert re.fullmatch(rf"\+[a-z0-9-]+\.({kinds})\.md|\.gitkeep", file.name), file.name
        assert len(file.read_text(encoding="utf-8").splitlines()) == (file.suffix == ".md"), file.name


# --- errors -----------------------------------------------------------------------------------------------------------


CAUGHT = {"Apart", "Unplannable", "_Unusual"}
"""Classes of errors that halfulp itself catches, so that no user sees them."""


def test_every_kind_of_error_has_its_own_code_and_a_section() -> None:
    """Found in the text of all modules: a class that nothing has loaded is one too."""
    roots = [ROOT / folder for folder in ("api", "conformance", "fp_formats", "interp", "semantics")]
    texts = [file.read_text(encoding="utf-8") for root in roots for file in root.rglob("*.py")]
    classes = [found for text in texts for found in re.findall(r"^class (\w+)\((\w+).*\):\n((?:\n|    .*\n)*)", text, re.MULTILINE)]  # fmt: skip
    kinds = {"HalfulpError"}
    while below := {name for name, base, _ in classes if base in kinds} - kinds:
        kinds |= below
    codes = {name: re.findall(r'^    code(?:: ClassVar\[str\])? = "([a-z-]+)"$', body, re.MULTILINE) for name, _, body in classes if name in kinds}  # fmt: skip
    sections = (DOCS / "error-codes.md").read_text(encoding="utf-8").split("\n## ")
    shown = {name: section.partition("\n")[0] for section in sections for name in re.findall(r"^Class `(\w+)`", section, re.MULTILINE)}  # fmt: skip
    assert len(kinds) >= 14
    assert codes == {name: [code] for name, code in shown.items()} | {name: [] for name in CAUGHT}
    assert len(set(shown.values())) == len(shown)
    assert [section.partition("\n")[0] for section in sections[1:-1] if "```text" not in section] == ["error"]


# --- the glossary -----------------------------------------------------------------------------------------------------

TERMS = {
    "ball": r"\bballs?\b",
    "batch": r"\bbatch(es)?\b",
    "binade": r"\bbinades?\b",
    "code": r"(?<![Ee]xit )(?<![Ee]rror )\bcodes\b",
    "correctly-rounded": r"\bcorrectly rounded\b",
    "divergence": r"\bdivergences?\b",
    "enclosure": r"\benclosures?\b",
    "implementation": r"\b(scalar|array) implementations?\b",
    "fn": r"\bFN\b",
    "fnu": r"\bFNU\b",
    "fnuz": r"\bFNUZ\b",
    "golden-value": r"\bgolden (value|vector|file)s?\b",
    "kappa": r"κ",
    "lane": r"\blanes?\b",
    "open": r"\bunspecified\b|\bopen (bit|element|result)s?\b",
    "oracle": r"\boracles?\b",
    "payload": r"\bpayloads?\b",
    "poison": r"\bpoison(ed)?\b",
    "profile": r"\bprofiles?\b",
    "signalling-nan": r"\b(signalling|quiet)\b",
    "significand": r"\bsignificands?\b",
    "storage-type": r"\b(storage|expressed) types?\b",
    "subgroup": r"\bsubgroups?\b",
    "subnormal": r"\b(subnormal|denormal)s?\b",
    "tie": r"\bties?\b|\bmidpoints?\b",
    "tile": r"\btiles?\b",
    "ulp": r"\bulps?\b",
    "undefined-behaviour": r"\bundefined behaviour\b",
    "zivs-loop": r"\bZiv's loop\b",
}
"""The words of the glossary by their anchors, each with the expression that finds it on a page."""

# The glossary links within itself; the report of `make conformance` is also printed elsewhere.
UNLINKED = ("glossary.md", "conformance.md")
LINKING = [ROOT / "CONTRIBUTING.md", *(page for page in pages() if page.name not in UNLINKED)]
"""The pages on which each of these words is linked at its first use."""


def unlinked(page: str) -> dict[str, str]:
    """Return the words of the glossary that a page uses before it links them, each with the text at that place.

    Code and headings do not count.
    """
    prose = re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^#.*$|^    [^-* ].*$|`[^`]*`", "", prose, flags=re.MULTILINE)
    places: dict[str, int] = {}

    def erased(link: re.Match[str]) -> str:
        if link[1].startswith(("glossary.md#", "docs/glossary.md#")):
            places.setdefault(link[1].partition("#")[2], link.start())
        return " " * len(link[0])

    # A word in a link to another page needs no second link.
    text = re.sub(r"\[[^\]]*\]\(([^)]*)\)", erased, prose)
    first = {anchor: re.search(words, text, re.IGNORECASE if words.islower() else 0) for anchor, words in TERMS.items()}
    return {
        anchor: text[max(0, found.start() - 40) : found.end() + 40]
        for anchor, found in first.items()
        if found and places.get(anchor, len(text)) > found.start()
    }


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.name)
def test_words_of_the_glossary_are_linked_where_a_page_first_uses_them(page: Path) -> None:
    assert unlinked(written(page)) == {}


def test_a_word_without_a_link_is_found() -> None:
    linked = "`poison`, [golden values](vector-files.md) and [poisoned](glossary.md#poison) elements: poison."
    assert unlinked(linked) == {}
    assert unlinked(f"Poison. {linked}").keys() == {"poison"}
    assert unlinked("A lane of a [batch](#batch).").keys() == {"lane"}


def test_the_glossary_has_these_words() -> None:
    assert set(TERMS) == anchors(DOCS / "glossary.md") - {"glossary"}


# --- links and the site -----------------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """Of a page: the names that a link can point at, its links, and what a browser loads to show it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names, self.links, self.loads = {""}, list[str](), list[str]()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.names.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") != "canonical" and "href" in given:
            self.loads.append(given["href"])
        elif "src" in given:
            self.loads.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the built site."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder / "site"],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.mark.long
def test_the_site_has_every_page_and_its_links_lead_somewhere(site: Path) -> None:
    found = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    assert {page.stem for page in pages()} - {"README"} | {"contributing"} <= {path.stem for path in found}
    assert not list(site.rglob("*.py"))
    checked = 0
    for path, page in found.items():
        if path.name == "404.html":  # as if it were served from the root of a server
            continue
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.name}: {link}"
            checked += 1
            # The explore page keeps its state behind the "#".
            if target in found and parts.fragment and target.name != EXPLORE_PAGE:
                assert unquote(parts.fragment) in found[target].names, f"{path.name}: {link}"
    assert checked > 500


SEARCHED = {
    "bfloat16": "Float formats", "float16": "Float formats", "float8_e4m3fn": "Float formats", "e4m3": "Float formats",
    "e5m2": "Float formats", "fp8": "Float formats", "tf32": "Float formats", "finfo": "Recipes", "torch": "Recipes",
    "jax": "Recipes", "sqrt": "Recipes", "tanh": "Elementary functions", "softmax": "Recipes", "per channel": "Recipes",
    "MX": "Quantising", "NVFP4": "Quantising", "quantize": "Quantising", "stochastic": "Running programs",
    "stochastic rounding": "Inputs and conversions", "matmul": "Sums and matrix products", "ulp": "Glossary",
    "poison": "Glossary", "subnormal": "Glossary", "saturate": "Profiles", "overflow": "Profiles", "NaN": "Semantics",
    "infinity": "Float formats", "Verilog": "Files of vectors", "Value": "Python API",
}  # fmt: skip
"""What people search for, and a page that is among the first that the search finds."""


EXPLORE_PAGE = "explore-page.html"


def test_the_explore_page_is_in_the_site(site: Path) -> None:
    assert (site / EXPLORE_PAGE).read_text(encoding="utf-8") == explore_page()
    shown = Page(site / "explore.html")
    assert EXPLORE_PAGE in shown.links
    assert EXPLORE_PAGE in shown.loads


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """Serve the site by http, and return its address."""
    handler = partial(SilentHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class SilentHandler(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.chromium
@pytest.mark.parametrize("scheme", ["file", "http"])
def test_the_explore_page_works_in_its_frame_and_by_itself(
    scheme: str, context: BrowserContext, site: Path, served: str
) -> None:
    asked: list[str] = []
    wrong: list[str] = []
    view = context.new_page()
    view.on("request", lambda request: asked.append(request.url))
    view.on("pageerror", lambda error: wrong.append(str(error)))
    view.goto((site / "explore.html").as_uri() if scheme == "file" else f"{served}/explore.html")
    frame = view.frame_locator("iframe.explore")
    frame.locator("#number").fill("465")
    assert frame.locator("#hex").inner_text() == "0x7F"
    frame.get_by_role("link", name="1.1 stochastically").click()
    assert frame.locator("#mode").input_value() == "stochastic"
    frame.locator("#number-up").click()
    assert frame.locator("#number").input_value() == "0x3D"
    with context.expect_page() as opened:
        view.click(f"a[href='{EXPLORE_PAGE}']")
    opened.value.fill("#number", "1/3")
    assert opened.value.inner_text("#hex") == "0x2B"
    assert {urlsplit(url).netloc for url in asked} <= {"", urlsplit(served).netloc}
    assert wrong == []


@pytest.mark.chromium
def test_search_works_from_a_folder_without_network(context: BrowserContext, site: Path) -> None:
    asked: list[str] = []
    view = context.new_page()
    view.on("request", lambda request: asked.append(request.url))
    view.goto((site / "index.html").as_uri())
    missing = {(word, page) for word, page in SEARCHED.items() if not found(view, word, page)}
    assert missing == set()
    assert len(asked) > 3
    assert {urlsplit(url).scheme for url in asked} <= {"file", "data", "about"}


def found(view: PageView, word: str, page: str) -> bool:
    """Type a word into the search, and tell whether it finds a page."""
    from playwright.sync_api import TimeoutError as NotYet

    title = view.locator(".md-search-result__item > .md-search-result__link h1", has_text=page).first
    # What is typed before the page's script listens, it does not hear. On a busy machine it answers late.
    for seconds in (1, 2, 4, 8, 16, 32):
        view.fill(".md-search__input", "")
        view.click(".md-search__input")
        view.keyboard.type(word)
        with suppress(NotYet):
            title.wait_for(timeout=1000 * seconds)
            return True
    return False


def test_the_site_loads_nothing_from_a_network(site: Path) -> None:
    for path in site.rglob("*.html"):
        for what in Page(path).loads:
            assert not urlsplit(what).netloc, f"{path.name}: {what}"
            assert urlsplit(what).scheme in ("", "data"), f"{path.name}: {what}"
    for path in site.rglob("*.css"):
        for what in re.findall(r"url\(([^)]*)\)|@import\s+(\S+)", path.read_text(encoding="utf-8")):
            assert "//" not in "".join(what).removeprefix("data:").partition(",")[0], f"{path.name}: {what}"


HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```\n|`[^`]*`", re.DOTALL | re.MULTILINE)


OTHERS = [ROOT / "benchmarks" / "RESULTS.md", ROOT / "examples" / "rtl" / "README.md", *sorted(ROOT.glob("*.md"))]
EVERY_PAGE = list(dict.fromkeys([*pages(), *OTHERS]))


def titles(text: str) -> list[str]:
    """Return the headings of the first level in a page, and every other heading that begins inside a code span.

    A line that begins with `#` is a heading for Markdown, also within a code span; the space after `#` is not needed.
    """
    spans = [code for code in CODE.findall(text) if not code.startswith("```")]
    return [
        *re.findall(r"^#(?!#).*$", CODE.sub("", text), re.MULTILINE),
        *(line for span in spans for line in span.splitlines()[1:] if line.startswith("#")),
    ]


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: f"{page.parent.name}-{page.name}")
def test_a_page_has_one_title(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert titles(text) == text.splitlines()[:1]


def test_a_heading_from_a_code_span_is_found() -> None:
    assert titles("# One\n\n```text\n# no\n```\n## Two\n") == ["# One"]
    assert titles("# One\n\nWith `a =\n#b.c<d>`, an attribute.\n") == ["# One", "#b.c<d>`"]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: f"{page.parent.name}-{page.name}")
def test_links_between_files_lead_somewhere(page: Path) -> None:
    """As GitHub shows the pages, without a site."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme == "https"
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if parts.fragment and target.suffix == ".md":
            assert parts.fragment in anchors(target), link


def test_the_readme_is_a_front_door() -> None:
    text = README.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```|\]\([^)]*\)", "", text, flags=re.DOTALL | re.MULTILINE)
    assert 400 <= len(prose.split()) <= 500
    assert len(text.splitlines()) < 120
    assert pyproject()["project"]["readme"] == "README.md"


def test_the_readme_names_the_alternatives_that_are_measured() -> None:
    alternatives = README.read_text(encoding="utf-8").partition("\n## Alternatives\n")[2]
    named = re.findall(r"^- \*\*(.+?)\*\*: ", alternatives, re.MULTILINE)
    measured = re.findall(r"^## (.+)$", (DOCS / "why-halfulp.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert named == measured[: len(named)]
    assert len(named) >= 7


# --- the order of reading ---------------------------------------------------------------------------------------------

ORDER = re.findall(r"^ +- ([^:\n]+): (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2], re.MULTILINE)  # fmt: skip
"""The title and the file of each page of the site, in order."""
IN_ROOT = {"architecture.md": "ARCHITECTURE.md", "contributing.md": "CONTRIBUTING.md"}


def test_every_page_is_in_the_order_of_reading() -> None:
    files = [name for _, name in ORDER]
    assert sorted(files) == sorted([*IN_ROOT, *(page.name for page in pages() if page != README)])


@pytest.mark.parametrize(("page", "title", "following"), [(page, *ORDER[(k + 1) % len(ORDER)]) for k, (_, page) in enumerate(ORDER)], ids=[page for _, page in ORDER])  # fmt: skip
def test_a_page_ends_with_a_link_to_the_next_one(page: str, title: str, following: str) -> None:
    """`docs/generate.py` writes these lines."""
    path, target = (ROOT / IN_ROOT.get(name, f"docs/{name}") for name in (page, following))
    *_, last = path.read_text(encoding="utf-8").splitlines()
    found = re.fullmatch(r"Next: \[(.*)\]\((.*)\)", last)
    assert found
    assert found[1] == title
    assert (path.parent / found[2]).resolve() == target
    assert len(re.findall(r"^Next: ", path.read_text(encoding="utf-8"), re.MULTILINE)) == 1
