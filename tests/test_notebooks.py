"""The notebooks of examples/ run, and their outputs are those that are kept with them."""

import re
from pathlib import Path

import nbformat
import pytest
from notebooks import NOTEBOOKS, executed, texts
from tree import ROOT

pytestmark = pytest.mark.lint

NEEDS: dict[str, pytest.MarkDecorator | tuple[pytest.MarkDecorator, ...]] = {
    "finding_a_bug_in_a_real_compiler": pytest.mark.mlir,
    "golden_vectors_for_an_adder": pytest.mark.iverilog,
    "one_matmul_on_four_targets": pytest.mark.triton,
    "quantised_mobile_block": (pytest.mark.torch, pytest.mark.torch_mlir, pytest.mark.tosa),
    "which_side_is_right": pytest.mark.jax,
}


def test_the_tutorial_has_four_parts_and_there_are_seven_more() -> None:
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\S+)\.ipynb`", page, re.MULTILINE)
    assert [name[:3] for name in named[:4]] == ["01_", "02_", "03_", "04_"]
    assert sorted(named) == [path.stem for path in NOTEBOOKS]
    assert len(named) == 11


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem, marks=NEEDS.get(path.stem, ())) for path in NOTEBOOKS]
)
# Of what Jupyter's parts say to each other in warnings, nothing is ours.
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_outputs_are_the_real_ones(path: Path, tmp_path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    assert texts(executed(path, tmp_path)) == texts(kept)
    assert any(texts(kept))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_small(path: Path) -> None:
    """They are looked at on GitHub, and live in the repository."""
    assert path.stat().st_size < 400_000
