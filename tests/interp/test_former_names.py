"""Pickles of halfulp 0.1, made before its modules moved, load as equal objects (`tests/data/record_pickles.py`)."""

from __future__ import annotations

import base64
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from command import PATIENCE

import halfulp as hu

RECORDED: dict[str, dict[str, str]] = json.loads((Path(__file__).parents[1] / "data" / "pickles_0_1.json").read_text())


@pytest.mark.parametrize("name", RECORDED)
def test_a_former_pickle_loads(name: str) -> None:
    entry = RECORDED[name]
    found = pickle.loads(base64.b64decode(entry["pickle"]))
    assert getattr(found, "name", str(found)) == entry["text"]
    again = pickle.loads(pickle.dumps(found))
    assert getattr(again, "name", str(again)) == entry["text"]


def test_poison_keeps_its_origin() -> None:
    value = pickle.loads(base64.b64decode(RECORDED["tensor of f8E4M3FN with poison"]["pickle"]))
    assert isinstance(value, hu.Value)
    assert str(value.origin(1, 2)) == "given as poison (input, element [0, 2])"
    assert value.poisoned.tolist() == [[False, False, True], [False, False, True]]


def test_a_value_equals_one_of_today() -> None:
    value = pickle.loads(base64.b64decode(RECORDED["scalar of f128"]["pickle"]))
    assert value == hu.Value.from_numpy(1.5, "f128")
    assert pickle.loads(base64.b64decode(RECORDED["format"]["pickle"])) == hu.float_format("f4E2M1FN")


def test_a_former_pickle_loads_in_a_process_that_imported_nothing() -> None:
    code = f"import base64, pickle; print(pickle.loads(base64.b64decode({RECORDED['buffer']['pickle']!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.stdout.strip(), done.stderr) == (RECORDED["buffer"]["text"], "")
