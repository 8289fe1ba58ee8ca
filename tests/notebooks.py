"""Executes the notebooks of examples/. As a program: does so, and keeps the outputs (``make notebooks``)."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from command import PATIENCE
from nbclient import NotebookClient
from tree import ROOT

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """Return the notebook with new outputs: run by this Python, on a copy of examples/ in ``folder``, with its
    `halfulp`.
    """
    shutil.copytree(EXAMPLES, folder / "examples")
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=PATIENCE,
        startup_timeout=PATIENCE,
        iopub_timeout=PATIENCE,  # else what a cell has printed is lost where it comes late
        kernel_name="python3",
        resources={"metadata": {"path": str(folder / "examples")}},
        record_timing=False,
        coalesce_streams=True,
    )
    path_before = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), path_before])
    try:
        client.execute()
    finally:
        os.environ["PATH"] = path_before
    # What depends on the machine that ran it, and says nothing.
    notebook.metadata.get("language_info", {}).pop("version", None)
    return notebook


def texts(notebook: Any) -> list[list[str]]:
    """Return the visible output of each cell: printed text; of a result its kinds, and its text or HTML."""
    found = []
    for cell in notebook.cells:
        said = []
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                # Of other versions of the tools the results are the same, until they are not.
                said += [re.sub(r"\b\d+\.\d+\.\d+\b", "VERSION", output.text)] if output.name == "stdout" else []
            elif "text/html" in output.data:
                seen = re.sub(r"<style.*?</style>|<[^>]*>", " ", output.data["text/html"], flags=re.DOTALL)
                said += [*sorted(output.data), " ".join(seen.split())]
            else:
                said += [*sorted(output.data), output.data["text/plain"]]
        found.append(said)
    return found


def main() -> None:
    """Execute all notebooks, or those named, and write their outputs into them."""
    for path in [Path(name).resolve() for name in sys.argv[1:]] or NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder)), path)


if __name__ == "__main__":
    main()
