"""halfulp bisect: the forms of its input, what it prints, its exit codes, and tools that fail midway."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command
from fake_mlir_opt import FakeOpt
from named_programs import ADD, SWAPPED, WRONG, dump, in_module
from tables import each_row

PASSES = "--pass-pipeline=builtin.module(canonicalize,cse)"
DUMPS = dump("Canonicalizer", "canonicalize", in_module(SWAPPED)) + dump("CSE", "cse", in_module(WRONG))


def without_times(text: str) -> str:
    return re.sub(r"  \(\d+\.\d\d s\)$", "", text, flags=re.MULTILINE)


def test_stages_as_files(command: Command, write: Any) -> None:
    names = [write("a.mlir", ADD), write("b.mlir", SWAPPED), write("c.mlir", WRONG)]
    code, out, err = command("bisect", *names, "--input=i8=5", "--input=i8=3")
    assert (code, err) == (1, "")
    assert without_times(out) == (
        "@f: 3 stages, 1 input\n"
        "0  a.mlir  first\n"
        "1  b.mlir  identical\n"
        "2  c.mlir  DIFFERENT\n"
        "  argument 0: i8=5\n"
        "  argument 1: i8=3\n"
        'first op with another value: arith.subi of 0x05 (5), 0x03 (3) gives 0x02 (2) ("c.mlir":2:8)\n'
        "first difference: after c.mlir, result[0]: 0x08 (8) became 0x02 (2)\n"
    )
    code, out, _ = command("bisect", *names[:2])
    assert code == 0
    assert out.endswith("no difference in 1 stage\n")


ROOT = Path(__file__).parents[3]
QUANT = "tests/data/triton/fp8_group_quant"


@each_row(
    # Three of the eight scales; the pass is that of the facts. AMD has a division that is rounded correctly.
    ("examples/group_quant_passes.txt", 3, "CanonicalizerPass", {"equal": 2053, "mismatch": 3}),
    (f"{QUANT}.gfx942.dumps.txt", None, "", {}),
)
def test_dumps_of_triton(
    dumps: str, guilty: int | None, name: str, elements: dict[str, int], command: Command, write: Any
) -> None:
    recorded = np.load(ROOT / f"{QUANT}.npz")
    np.save("x.npy", recorded["in_x"])
    inputs = ["--input=@x.npy", f"--input=1024xf8E4M3FN={' 0' * 1024}", f"--input=8xf32={' 0' * 8}", "--input=1024"]
    code, out, _ = command("bisect", "--dumps", str(ROOT / dumps), "--grid=8", *inputs, "--json")
    found = json.loads(out)
    assert (code, found["guilty"]) == (0 if guilty is None else 1, guilty)
    if guilty is not None:
        stage = found["stages"][guilty]
        assert (stage["pass"], stage["elements"]) == (name, elements)
        assert stage["ground"] == "a quotient became the product with a reciprocal (nothing allows it)"
        # As many as differ between the two chips.
        assert np.count_nonzero(recorded["cuda90_s"] != recorded["gfx942_s"]) == elements["mismatch"]
    code, _, err = command("bisect", "--dumps", str(ROOT / dumps))
    assert code == 2
    assert "give --grid=4,1 and an --input for each argument" in err


def test_the_page_has_the_guilty_stage_open(command: Command, write: Any) -> None:
    odd = SWAPPED.replace("%0 =", "// <b>&\n  %0 =")
    code, _, _ = command(
        "bisect", write("a.mlir", ADD), write("b.mlir", odd), write("c.mlir", WRONG), "--html=page.html"
    )
    assert code == 1
    text = Path("page.html").read_text(encoding="utf-8")
    assert text.count("<details") == 3
    assert text.count("<details open>") == 1
    opened = text[text.index("<details open>") :]
    assert 'c.mlir <span class="DIFFERENT">DIFFERENT' in opened
    assert '<td class="old">  %0 = arith.addi %arg1, %arg0 : i8</td>' in opened
    assert '<td class="new">  %0 = arith.subi %arg0, %arg1 : i8</td>' in opened
    assert "&lt;b&gt;&amp;" in text
    assert "<script" not in text


def test_dumps_as_a_file_and_as_a_folder(command: Command, write: Any) -> None:
    write("all.txt", DUMPS)
    Path("tree").mkdir()
    for name, text in (("0_canonicalize", SWAPPED), ("1_cse", WRONG)):
        write(f"tree/{name}.mlir", in_module(text))
    write("f.mlir", ADD)
    for path, name in (("all.txt", "CSE (cse)"), ("tree", "cse")):
        code, out, _ = command("bisect", "f.mlir", f"--dumps={path}", "--input=i8=5", "--input=i8=3")
        assert code == 1
        assert f"first difference: after {name}, result[0]: 0x08 (8) became 0x02 (2)" in out
        code, out, _ = command("bisect", f"--dumps={path}", "--json")
        record = json.loads(out)
        assert [one["verdict"] for one in record["stages"]] == ["first", "DIFFERENT"]
        assert record["stages"][record["guilty"]]["argument"] == "cse"


@each_row(
    ([], "missing: give one of --pass-pipeline, --dumps and the stages as files"),
    (["f.mlir"], "missing: give one of --pass-pipeline, --dumps and the stages as files"),
    ([PASSES], "--pass-pipeline takes one file, not 0"),
    (["f.mlir", "f.mlir", PASSES], "--pass-pipeline takes one file, not 2"),
    (["f.mlir", "f.mlir", "--dumps=d"], "--dumps takes at most one file, the program before all passes, not 2"),
    (["f.mlir", PASSES, "--dumps=d"], "--pass-pipeline and --dumps cannot be combined: give one of them"),
    (["f.mlir", "f.mlir", "--reduce=r.md"], "--reduce can be used only with --pass-pipeline: the passes run again"),
    (["-", "-"], "only one stage can be the standard input"),
    (["--dumps=absent"], "absent: No such file or directory"),
    (["--dumps=f.mlir"], "f.mlir has no dump: its lines must begin with '// -----// IR Dump'"),
    (["f.mlir", "f.mlir", "--function=g"], "there is no function @g with a body in the first version"),
)
def test_wrong_use(arguments: list[str], message: str, command: Command, write: Any) -> None:
    write("f.mlir", ADD)
    code, out, err = command("bisect", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_nothing_to_compare(command: Command, write: Any) -> None:
    write("a.mlir", ADD)
    write("b.txt", dump("CSE", "cse", "module {\n"))
    code, out, _ = command("bisect", "a.mlir", "--dumps=b.txt")
    assert code == 3
    assert "not run: " in out
    assert out.endswith("nothing was compared; 1 stage did not run\n")
    code, _, err = command("bisect", "--dumps=b.txt")
    assert code == 3
    assert "no stage can be read" in err


def fake(dumps: str, end: str) -> str:
    """Return the body of an mlir-opt that prints dumps and ends so."""
    Path("dumps.txt").write_text(dumps, encoding="utf-8")
    return f'case "$*" in *print-ir-after-all*) cat dumps.txt >&2; {end};; *) cat;; esac'


def test_passes_of_mlir_opt(fake_opt: FakeOpt, command: Command) -> None:
    Path("f.mlir").write_text(ADD, encoding="utf-8")
    code, out, _ = command("bisect", "f.mlir", PASSES, fake_opt(fake(DUMPS, "exit 0")), "--keep=kept")
    assert code == 1
    assert "first difference: after CSE (cse), " in out
    kept = sorted(path.name for path in Path("kept").iterdir())
    assert kept == ["000-f.mlir", "001-canonicalize.mlir", "002-cse.mlir"]
    assert Path("kept/000-f.mlir").read_text(encoding="utf-8") == ADD


@each_row(
    ("echo '<stdin>:2:3: error: no such thing' >&2; exit 1", "f.mlir:2:3: error: my-opt 99.1.0git: no such thing"),
    ("kill -SEGV $$", "my-opt 99.1.0git crashed (signal 11)"),
    ("sleep 60", "my-opt 99.1.0git: my-opt did not end in 1 s"),
)
def test_what_was_compared_stays_if_a_pass_fails(end: str, reason: str, fake_opt: FakeOpt, command: Command) -> None:
    Path("f.mlir").write_text(ADD, encoding="utf-8")
    first = dump("Canonicalizer", "canonicalize", in_module(SWAPPED))
    code, out, err = command("bisect", "f.mlir", PASSES, fake_opt(fake(first, end)), "--seconds=1")
    assert (code, err) == (2, "")
    assert f"stopped early: {reason}" in out
    assert out.endswith("no difference in 1 stage\n")


def test_passes_that_cannot_begin(fake_opt: FakeOpt, command: Command) -> None:
    code, out, err = command("bisect", "f.mlir", PASSES, fake_opt("echo 'unknown pass' >&2; exit 1"))
    assert (code, out) == (2, "")
    assert "my-opt 99.1.0git: unknown pass" in err


POWER = """\
func.func @f(%x: f32, %y: f32) -> f32 {
  %0 = arith.addf %x, %y : f32
  %1 = math.powf %0, %y : f32
  return %1 : f32
}
"""
EXPANDED = "--pass-pipeline=builtin.module(canonicalize,func.func(math-expand-ops{ops=powf}),cse)"


@pytest.mark.mlir
def test_a_known_bug_of_mlir_22_is_named_and_shrunk(command: Command, write: Any) -> None:
    """llvm/llvm-project issue 132202: powf of a negative base is a NaN."""
    name = write("f.mlir", POWER)
    inputs = ("--input=f32=0", "--input=f32=-3")
    code, out, _ = command("bisect", name, EXPANDED, *inputs)
    assert code == 0
    assert "known divergence: a power is an exponential of a logarithm" in out
    assert out.endswith("no difference but known ones, after MathExpandOpsPass (math-expand-ops), in 3 stages\n")
    code, out, err = command("bisect", name, EXPANDED, *inputs, "--no-known", "--reduce=report.md")
    assert code == 1
    assert (
        "first difference: after MathExpandOpsPass (math-expand-ops), result[0]: 0xBD17B426 (-0.037037037) became "
        "0x7FC00000 (nan)\n" in out
    )
    assert err.startswith("report.md: a report of @f; ")
    report = Path("report.md").read_text(encoding="utf-8")
    assert "builtin.module(func.func(math-expand-ops{ops=powf}))" in report
    assert "arith.addf" not in report


def test_a_damaged_file_is_passed_over(command: Command, write: Any) -> None:
    good, damaged = write("a.mlir", ADD), write("b.mlir", ADD.rstrip().removesuffix("}"))
    code, out, err = command("bisect", good, damaged, write("c.mlir", WRONG))
    assert code == 1
    assert err.startswith("b.mlir:")
    assert ": error: " in err
    assert "\n1  b.mlir  not run: " in out
    assert "\n2  c.mlir  DIFFERENT" in out
    code, out, err = command("bisect", good, damaged)
    assert code == 3
    assert out.endswith("nothing was compared; 1 stage did not run\n")
    code, out, err = command("bisect", good, "none.mlir")
    assert (code, out) == (2, "")
    assert "none.mlir" in err


def test_the_files_have_all_functions(command: Command, write: Any) -> None:
    both = ADD + ADD.replace("@f", "@g")
    code, _, _ = command(
        "bisect", write("a.mlir", both), write("b.mlir", WRONG + ADD.replace("@f", "@g")), "--html=p.html"
    )
    assert code == 1
    text = Path("p.html").read_text(encoding="utf-8")
    assert text.index("The stages of @f</h1>") < text.index('"DIFFERENT">') < text.index("The stages of @g</h1>")
    assert text.count("</html>") == 1


def test_the_name_of_a_pass_is_no_path(command: Command, write: Any) -> None:
    write("b.txt", dump("CSE", "../../x/cse", in_module(ADD)) + dump("CSE", "b" * 400, in_module(SWAPPED)))
    code, _, err = command("bisect", "--dumps=b.txt", "--keep=kept")
    assert (code, err) == (0, "")
    assert sorted(path.name for path in Path("kept").iterdir()) == ["000-.._.._x_cse.mlir", f"001-{'b' * 80}.mlir"]


def test_the_first_op_with_another_value(command: Command, write: Any) -> None:
    """Only %1 is wrong; what it is given, and what is made of it, is computed as before."""
    right = """func.func @f(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  %1 = arith.mulf %0, %x : f32
  %2 = arith.negf %1 : f32
  return %2 : f32
}"""
    names = write("a.mlir", right), write("b.mlir", right.replace("mulf %0, %x", "divf %0, %x"))
    code, out, _ = command("bisect", *names, "--input=f32=3", "--html=p.html")
    assert code == 1
    line = (
        'first op with another value: arith.divf of 0x40C00000 (6), 0x40400000 (3) gives 0x40000000 (2) ("b.mlir":3:8)'
    )
    assert line in out.splitlines()
    assert "arith.divf of 0x40C00000" in Path("p.html").read_text(encoding="utf-8")
    moved = right.replace("return %2", "return %0")  # another number, but no other op
    _, out, _ = command("bisect", names[0], write("c.mlir", moved), "--input=f32=3")
    assert "first difference" in out
    assert "first op" not in out
