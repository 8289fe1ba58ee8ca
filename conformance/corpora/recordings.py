"""What real tools answered at level ``sample``, recorded, so that it can be compared where none of them is installed.

    python -m halfulp.conformance.corpora.recordings [ORACLE ...]

asks the oracles (all, or those named) and rewrites ``recorded/oracles.npz``, and in divergences.toml the number of
sampled elements of each row. Inputs are not stored but made again: a checksum tells whether they are those that were
asked.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from halfulp.conformance.comparing.check import Tally, ask, check
from halfulp.conformance.comparing.divergences import divergences, pin
from halfulp.conformance.comparing.inputs import digest, inputs_for
from halfulp.conformance.comparing.op_case import Task
from halfulp.conformance.ops.sweep import jobs
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.oracle import Answer, Oracle, Unavailable
from halfulp.fp_formats.codes import code_shape, storage_dtype
from halfulp.interp.values.value import element_width
from halfulp.semantics.kernel import Codes

FILE = Path(__file__).parent / "recorded" / "oracles.npz"
NOT_RECORDED = frozenset({"exact", "npz", "command"})
"""The specification is always there; the other two are whatever the user has."""

Key = tuple[Task, int]
"""A task and the checksum of its inputs."""


@dataclass
class Recorded:
    """An oracle that repeats what a tool of this name and version answered."""

    name: str
    profile: str
    version: str
    answers: dict[Key, tuple[Answer, ...] | str]

    def refuses(self, task: Task) -> str | None:
        """What the tool refused, it refuses; a refusal stands for any inputs."""
        refusal = self.answers.get((task, 0))
        return refusal if isinstance(refusal, str) else None

    def evaluate(self, task: Task, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """The recorded answers. Raises KeyError for inputs that were never asked: record anew."""
        found = self.answers[task, digest(inputs)]
        assert not isinstance(found, str)
        return found


@cache
def recorded() -> dict[str, Recorded]:
    """The recorded oracles by name."""
    with np.load(FILE, allow_pickle=False) as file:
        header = json.loads(file["header"].tobytes())
        data, statuses = file["bits"].tobytes(), file["status"]
    oracles: dict[str, Recorded] = {}
    place = status_place = 0
    for name, about in header.items():
        answers: dict[Key, tuple[Answer, ...] | str] = {}
        for row in about["tasks"]:
            task = Task(row["op"], tuple(row["operands"]), tuple(row["results"]), tuple(map(tuple, row["properties"])))
            if "refusal" in row:
                answers[task, 0] = row["refusal"]
                continue
            found = []
            for type_, with_status, why in zip(task.result_types, row["status"], row["why"], strict=True):
                width = element_width(type_) or 0
                shape = code_shape(tuple(row["shape"]), width)
                dtype = storage_dtype(width)
                size = int(np.prod(shape, dtype=np.int64))
                bits = np.frombuffer(data, dtype, size, place).reshape(shape)
                place += size * dtype.itemsize
                status = None
                if with_status:
                    count = int(np.prod(row["shape"], dtype=np.int64))
                    status = statuses[status_place : status_place + count].reshape(row["shape"])
                    status_place += count
                found.append(Answer(bits, status, why))
            answers[task, row["inputs"]] = tuple(found)
        oracles[name] = Recorded(name, about["profile"], about["version"], answers)
    return oracles


def replay(name: str) -> Tally:
    """What the comparison makes of an oracle's recorded answers now."""
    total = Tally()
    for job in jobs("sample", oracles=[name]):
        for inputs in inputs_for(job.task, job.count, job.seed, job.bits):
            total.add(check(recorded()[name], job.task, inputs, divergences()))
    return total


def _asked(source: Oracle) -> Recorded:
    answers: dict[Key, tuple[Answer, ...] | str] = {}
    for job in jobs("sample", oracles=[source.name]):
        refusal = source.refuses(job.task)
        if refusal is not None:
            answers[job.task, 0] = refusal
            continue
        for inputs in inputs_for(job.task, job.count, job.seed, job.bits):
            answers[job.task, digest(inputs)] = ask(source, job.task, inputs)
    return Recorded(source.name, source.profile, source.version, answers)


def _write(oracles: dict[str, Recorded]) -> None:
    header: dict[str, Any] = {}
    bits: list[bytes] = []
    statuses: list[Any] = [np.zeros(0, np.uint8)]
    for name, source in sorted(oracles.items()):
        rows = []
        for (task, checksum), found in source.answers.items():
            row: dict[str, Any] = {
                "op": task.op, "operands": task.operands, "results": task.results, "properties": task.properties,
            }  # fmt: skip
            if isinstance(found, str):
                row["refusal"] = found
            else:
                row["inputs"] = checksum
                width = element_width(task.result_types[0]) or 0
                row["shape"] = found[0].bits.shape[:-1] if width > 64 else found[0].bits.shape
                row["status"] = [int(answer.status is not None) for answer in found]
                row["why"] = [answer.why for answer in found]
                bits += [np.ascontiguousarray(answer.bits).tobytes() for answer in found]
                statuses += [answer.status.reshape(-1) for answer in found if answer.status is not None]
            rows.append(row)
        header[name] = {"profile": source.profile, "version": source.version, "tasks": rows}
    text = json.dumps(header, separators=(",", ":")).encode()
    temporary = FILE.with_suffix(".tmp.npz")
    np.savez_compressed(
        temporary,
        header=np.frombuffer(text, np.uint8),
        bits=np.frombuffer(b"".join(bits), np.uint8),
        status=np.concatenate(statuses),
    )
    os.replace(temporary, FILE)


def main(names: Sequence[str]) -> int:
    """Ask, and write."""
    from halfulp.conformance.oracles import ORACLES

    found = dict(recorded()) if FILE.exists() else {}
    for name in names or [name for name in ORACLES if name not in NOT_RECORDED]:
        try:
            found[name] = _asked(oracle(name))
        except Unavailable as reason:
            print(f"{name} is not asked: {reason}", file=sys.stderr)
            return 1
        print(f"{name}: {len(found[name].answers)} tasks")
    _write(found)
    print(f"{FILE.stat().st_size} bytes")
    recorded.cache_clear()
    pin("sampled", {name: replay(name).known for name in recorded()})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
