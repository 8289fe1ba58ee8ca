"""Dumps of passes: their headers and their texts, whole, cut and torn, in one text and in folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from dumped_stages import ADD, SWAPPED, dump, in_module

from halfulp.conformance.whole_programs.bisection.stages import Dump, Stage, of_dumps, read_dumps, read_folder
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module

ALL = dump("Canonicalizer", "canonicalize", in_module(ADD)) + dump("CSE", "cse", in_module(SWAPPED))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("After CSE (cse)", Dump("CSE", "cse", "", "")),
        ("After CSE (cse) ('func.func' operation: @f)", Dump("CSE", "cse", "func.func", "")),
        ("After CSE (cse) ('builtin.module' operation)", Dump("CSE", "cse", "builtin.module", "")),
        ("After CSE Failed (cse)", Dump("CSE", "cse", "", "", failed=True)),
        ("After CSE", Dump("CSE", "", "", "")),
        ("After mlir::CSEPass: cse", Dump("mlir::CSEPass", "cse", "", "")),
        ("After CanonicalizerPass: canonicalize{a=false    b=10}", Dump("CanonicalizerPass", "canonicalize", "", "")),
        (
            "After mlir::iree_compiler::IREE::ABI::WrapEntryPointsPass (iree-abi-wrap-entry-points)",
            Dump("mlir::iree_compiler::IREE::ABI::WrapEntryPointsPass", "iree-abi-wrap-entry-points", "", ""),
        ),
    ],
)
def test_headers(header: str, expected: Dump) -> None:
    assert read_dumps(f"// -----// IR Dump {header} //----- //\n").passes == (expected,)


def test_dumps_before_passes_and_what_stands_before_the_first_dump_do_not_count() -> None:
    found = read_dumps("warning: something\n" + ALL.replace("After CSE", "Before CSE"))
    assert [one.name for one in found.passes] == ["Canonicalizer"]
    assert parse_module(found.passes[0].text).lookup("f") is not None


@pytest.mark.parametrize(
    "said",
    [
        "model.mlir:4:3: error: failed to legalize operation 'arith.addi'\n",
        "PLEASE submit a bug report\nStack dump:\n0. mlir-opt\n",
    ],
)
def test_what_a_tool_says_at_its_end_is_no_part_of_a_program(said: str) -> None:
    found = read_dumps(ALL + said)
    assert found.said == said.strip()
    assert [parse_module(one.text).lookup("f") is not None for one in found.passes] == [True, True]
    assert of_dumps(found, parse_module).end == said.splitlines()[0]


def test_a_failed_pass_ends_the_stages() -> None:
    found = of_dumps(read_dumps(ALL.replace("CSE (", "CSE Failed (")), parse_module)
    assert [str(one) for one in found.stages] == ["Canonicalizer (canonicalize)"]
    assert found.end == "CSE (cse) failed"


def test_an_error_after_which_passes_go_on_ends_nothing() -> None:
    """affine-super-vectorize says so of a layout that it leaves alone."""
    header = "// -----// IR Dump After CSE"
    text = ALL.replace(header, "<stdin>:24:12: error: NYI: non-trivial layout map\n" + header)
    found = of_dumps(read_dumps(text), parse_module)
    assert (len(found.stages), found.end) == (2, "")
    assert of_dumps(read_dumps(ALL + "<stdin>:1:1: error: it ended here\n"), parse_module).end


def test_a_dump_that_is_cut_is_no_program() -> None:
    for length in range(ALL.index("CSE") + 20, len(ALL) - 3):
        stages = of_dumps(read_dumps(ALL[:length]), parse_module).stages
        assert isinstance(stages[0].module, Module)
        assert len(stages) == 1 or isinstance(stages[1].module, HalfulpError)


def test_dumps_that_tear_each_other_apart_are_no_programs() -> None:
    """Two threads that print at once: one dump begins in the middle of another."""
    torn = ALL[: ALL.index("%arg1 : i8") + 4] + ALL[ALL.index("// -----// IR Dump After CSE") :]
    stages = of_dumps(read_dumps(torn), parse_module).stages
    assert [isinstance(one.module, Module) for one in stages] == [False, True]


def test_passes_on_functions_print_these_alone() -> None:
    first = in_module(ADD + ADD.replace("@f", "@g"))
    text = dump("CSE", "cse", SWAPPED) + dump("CSE", "cse", SWAPPED.replace("@f", "@g"))
    start = Stage("first", "", first, parse_module(first))
    _, one, two = of_dumps(read_dumps(text), parse_module, start).stages
    shown = []
    for stage in (one, two):
        assert isinstance(stage.module, Module)
        assert [op.symbol_name for op in stage.module.body] == ["f", "g"]
        assert parse_module(stage.text).lookup("g") is not None
        shown.append([f"add{'i %arg1' if 'arg1, %arg0' in part else ''}" for part in stage.text.split("func.func")[1:]])
    assert shown == [["addi %arg1", "add"], ["addi %arg1", "addi %arg1"]]


def test_the_files_of_a_folder_come_in_the_order_of_the_passes(tmp_path: Path) -> None:
    nested = tmp_path / "builtin_module_m" / "func_func_f"
    nested.mkdir(parents=True)
    files = {
        nested / "0_0_mem2reg.mlir": dump("Mem2Reg", "mem2reg", ADD),
        nested.parent / "1_canonicalize.mlir": dump("Canonicalizer", "canonicalize", in_module(ADD)),
        nested.parent / "3_cse.mlir": dump("CSE", "cse", in_module(ADD)),
        nested / "3_1_sroa.mlir": dump("SROA", "sroa", ADD),
        nested.parent / "10_inline.mlir": dump("Inliner", "inline", in_module(ADD)),
        nested.parent / "notes.mlir": "nothing",
    }
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    names = [one.argument for one in read_folder(tmp_path).passes]
    assert names == ["mem2reg", "canonicalize", "cse", "sroa", "inline"]


def test_a_folder_without_dumps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no dumps of passes"):
        read_folder(tmp_path)
