"""Dumps of IREE's compiler: which of them run, and that the verdicts come from the right bindings and workgroups."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from halfulp.conformance.oracles.iree import compiler
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import Finished
from halfulp.conformance.whole_programs.bisection.bisect import Bisection, Judgement, bisect
from halfulp.conformance.whole_programs.bisection.runs import Dumps, StageRunner, made_inputs, read_dumps
from halfulp.conformance.whole_programs.iree_dumps import chains as chains_module
from halfulp.conformance.whole_programs.iree_dumps.chains import chains, is_of_iree, read_all
from halfulp.conformance.whole_programs.validation import Inputs
from halfulp.interp.ir.operations import Module
from halfulp.interp.run.settings import Settings

pytestmark = pytest.mark.iree

PROGRAMS = Path(__file__).parents[2] / "data" / "programs"
OPTIONS = (
    "--compile-to=executable-targets",
    "--iree-hal-target-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
    "--mlir-print-ir-after-all",
    "-o",
    "/dev/null",
)


def compiled(program: Path) -> str:
    done = subprocess.run(
        [compiler().path, str(program), *OPTIONS], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stderr


def bisected(dumps: Dumps, wanted: str = "", left_out: str = "-", count: int = 1) -> list[Bisection]:
    """Run the programs and dispatches whose names contain ``wanted`` and not ``left_out``."""
    found = []
    for name, compilation in chains(dumps, read_all(dump.text for dump in dumps.passes)):
        first = next((one.module for one in compilation.stages if isinstance(one.module, Module)), None)
        function = None if first is None else first.lookup(name)
        if function is not None and wanted in name and left_out not in name:
            runner = StageRunner(function, made_inputs(function, Inputs(count)), Settings(max_steps=100_000_000))
            found.append(bisect(compilation, runner))
    return found


@pytest.mark.parametrize(
    ("model", "left_out"),
    # What is left out takes a minute. The others must run two fifths of all dumps without it.
    [
        ("softmax_bf16", "-"),
        pytest.param("layernorm_f32", "-", marks=pytest.mark.exhaustive),
        pytest.param("mlp_silu_bf16", "dispatch_0", marks=pytest.mark.exhaustive),
    ],
)
def test_two_fifths_of_the_dumps_run(model: str, left_out: str) -> None:
    dumps = read_dumps(compiled(PROGRAMS / f"{model}.stablehlo.mlir"))
    assert is_of_iree(dumps)
    ran = sum(
        one.judgement is not Judgement.NOT_RUN for found in bisected(dumps, left_out=left_out) for one in found.results
    )
    assert ran >= 0.4 * len(dumps.passes)


PROGRAM = """func.func @main(%a: tensor<4x8xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.reduce { arith.addf } ins(%a : tensor<4x8xf32>) outs(%start : tensor<4xf32>) dimensions = [1]
  return %sum : tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("iree") / "sums.mlir"
    path.write_text(PROGRAM)
    return compiled(path)


def test_a_dispatch_runs_all_its_workgroups_and_no_pass_changes_it(small: str) -> None:
    (found,) = bisected(read_dumps(small), "dispatch_0", count=2)
    ran = [one for one in found.results if one.judgement is not Judgement.NOT_RUN]
    assert found.guilty is None
    assert len(ran) > 50
    assert any("workgroup" in one.stage.text for one in ran)


def test_a_pass_that_changes_a_dispatch_is_named(small: str) -> None:
    # One dump in the middle of the dispatch multiplies where it added.
    marker = "IR Dump After EmptyTensorToAllocTensorPass"
    before, header, after = small.partition(marker)
    body, end, rest = after.partition("// -----// IR Dump")
    assert "multi_reduction <add>" in body
    planted = before + header + body.replace("multi_reduction <add>", "multi_reduction <mul>") + end + rest
    (found,) = bisected(read_dumps(planted), "dispatch_0", count=2)
    assert found.guilty is not None
    assert found.results[found.guilty].stage.name == "EmptyTensorToAllocTensorPass"


LAYOUT = f"layout(<bindings = [{', '.join(['#hal.pipeline.binding<storage_buffer>'] * 3)}]>)"
VIEWS = [
    f"      %{name} = hal.interface.binding.subspan {LAYOUT} binding({number}) offset(%c0) : memref<4xf32>"
    for number, name in enumerate("abc")
]
DISPATCH = f"""module {{
hal.executable.variant public @cpu target(<"llvm-cpu", "embedded-elf-x86_64">) {{
  hal.executable.export public @difference ordinal(0) {LAYOUT.replace("(<", "(#hal.pipeline.layout<")}
  builtin.module {{
    func.func @difference() {{
      %c0 = arith.constant 0 : index
VIEWS
      %x = memref.load %a[%c0] : memref<4xf32>
      %y = memref.load %b[%c0] : memref<4xf32>
      %z = arith.subf %x, %y : f32
      memref.store %z, %c[%c0] : memref<4xf32>
      return
    }}
  }}
}}
}}
"""


def dump_of(name: str, text: str) -> str:
    return f"// -----// IR Dump After {name} ({name.lower()}) //----- //\n{text}\n"


def test_bindings_may_be_named_in_another_order() -> None:
    texts = [DISPATCH.replace("VIEWS", "\n".join(views)) for views in (VIEWS, VIEWS[::-1])]
    texts[1] = texts[1].replace("arith.subf %x, %y", "arith.addf %x, %y")
    for second, verdict in ((texts[1], Judgement.DIFFERENT), (texts[1].replace("addf", "subf"), Judgement.UNCHANGED)):
        (found,) = bisected(read_dumps(dump_of("First", texts[0]) + dump_of("Second", second)))
        assert [one.judgement for one in found.results[1:]] == [verdict]


def test_a_damaged_dump_is_of_the_dispatch_that_it_names() -> None:
    """So the pass that printed it may be named as guilty."""
    whole = DISPATCH.replace("VIEWS", "\n".join(VIEWS))
    parts = [whole, whole.replace("%y : f32", "%nothing : f32"), "", whole.replace("subf", "addf")]
    text = "".join(dump_of(name, part) for name, part in zip(("A", "B", "C", "D"), parts, strict=True))
    (found,) = bisected(read_dumps(text))
    assert [one.judgement for one in found.results[1:]] == [Judgement.NOT_RUN, Judgement.NOT_RUN, Judgement.DIFFERENT]


@pytest.mark.parametrize("end", ["// -----", "// -----// IR Du", "// -----// IR Dump After E"])
def test_a_cut_header_spoils_no_other_dump(end: str) -> None:
    """MLIR's own marker between texts is the beginning of a header."""
    whole = DISPATCH.replace("VIEWS", "\n".join(VIEWS))
    text = dump_of("A", whole) + dump_of("B", whole.replace("subf", "addf")) + end
    (found,) = bisected(read_dumps(text))
    assert [one.judgement for one in found.results[1:]] == [Judgement.DIFFERENT]


class Echo:
    """Prints what it reads, and ends with a crash where it reads the word."""

    def finished(self, arguments: Sequence[str], text: str) -> Finished:
        if "crash" in text:
            raise OracleError("crash", "the tool crashed")
        return Finished(0, text, "")


def test_a_text_that_stops_the_tool_spoils_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains_module, "converter", Echo)
    texts = [f"// {number}\nmodule {{}}" for number in range(5)]
    found = read_all([*texts[:3], "// crash", *texts[3:]])
    assert "iree-opt: crash: the tool crashed" in str(found["// crash"])
    assert [isinstance(found[text], Module) for text in texts] == [True] * len(texts)
