"""Answers of real tools at level ``sample``, recorded for machines where none of them is installed.

    PYTHONPATH=tests python -m corpora.recordings [ORACLE ...]

asks the oracles (all, or the named ones) and rewrites ``recorded/oracles.npz``, and in divergences.toml the number of
sampled elements of each row. Inputs are not stored but made again: a checksum tells whether they are those of the
recording.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from halfulp.conformance.comparing.check import Tally, ask, check, known_differences
from halfulp.conformance.comparing.divergences import pin
from halfulp.conformance.comparing.inputs import digest, inputs_for
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.ops.jobs import jobs
from halfulp.conformance.oracles import ORACLES, oracle
from halfulp.conformance.oracles.oracle import Answer, Oracle, Unavailable
from halfulp.fp_formats.formats import Codes, code_shape, storage_dtype
from halfulp.interp.ir.types import width_of

FILE = Path(__file__).parent / "recorded" / "oracles.npz"
NOT_RECORDED = frozenset({"exact", "npz", "command"})
"""Oracles without a recording: the specification is always there; the other two depend on the user."""

Key = tuple[OpCase, int]
"""A case and the checksum of its inputs."""


@dataclass
class RecordedOracle:
    """An oracle that repeats the recorded answers of a tool of this name and version."""

    name: str
    profile: str
    version: str
    answers: dict[Key, tuple[Answer, ...] | str]

    def refuses(self, case: OpCase) -> str | None:
        """Return the recorded refusal of a case; it holds for any inputs."""
        refusal = self.answers.get((case, 0))
        return refusal if isinstance(refusal, str) else None

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        """Return the recorded answers. Raises KeyError for inputs that were never asked: record again."""
        found = self.answers[case, digest(inputs)]
        assert not isinstance(found, str)
        return found


@cache
def recorded() -> dict[str, RecordedOracle]:
    """Return the recorded oracles by name."""
    with np.load(FILE, allow_pickle=False) as file:
        header = json.loads(file["header"].tobytes())
        data, statuses = file["bits"].tobytes(), file["status"]
    oracles: dict[str, RecordedOracle] = {}
    place = status_place = 0
    for name, about in header.items():
        answers: dict[Key, tuple[Answer, ...] | str] = {}
        for row in about["tasks"]:
            case = OpCase(
                row["op"], tuple(row["operands"]), tuple(row["results"]), tuple(map(tuple, row["properties"]))
            )
            if "refusal" in row:
                answers[case, 0] = row["refusal"]
                continue
            found = []
            for type_, with_status, why in zip(case.result_types, row["status"], row["why"], strict=True):
                width = width_of(type_)
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
            answers[case, row["inputs"]] = tuple(found)
        oracles[name] = RecordedOracle(name, about["profile"], about["version"], answers)
    return oracles


def replay(name: str) -> Tally:
    """Compare an oracle's recorded answers with the current results."""
    total = Tally()
    for job in jobs("sample", oracles=[name]):
        for inputs in inputs_for(job.case, job.count, job.seed, job.bits):
            total.add(check(recorded()[name], job.case, inputs, known_differences()))
    return total


def _asked(source: Oracle) -> RecordedOracle:
    answers: dict[Key, tuple[Answer, ...] | str] = {}
    for job in jobs("sample", oracles=[source.name]):
        refusal = source.refuses(job.case)
        if refusal is not None:
            answers[job.case, 0] = refusal
            continue
        for inputs in inputs_for(job.case, job.count, job.seed, job.bits):
            answers[job.case, digest(inputs)] = ask(source, job.case, inputs)
    return RecordedOracle(source.name, source.profile, source.version, answers)


def _write(oracles: dict[str, RecordedOracle]) -> None:
    header: dict[str, Any] = {}
    bits: list[bytes] = []
    statuses: list[Any] = [np.zeros(0, np.uint8)]
    for name, source in sorted(oracles.items()):
        rows = []
        for (case, checksum), found in source.answers.items():
            row: dict[str, Any] = {
                "op": case.op, "operands": case.operands, "results": case.results, "properties": case.properties,
            }  # fmt: skip
            if isinstance(found, str):
                row["refusal"] = found
            else:
                row["inputs"] = checksum
                width = width_of(case.result_types[0])
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


def main(arguments: Sequence[str]) -> int:
    """Ask the oracles and write the recording."""
    parser = argparse.ArgumentParser(prog="python -m corpora.recordings", description="Record what real tools answer.")
    parser.add_argument("oracle", nargs="*", help="the oracles that are asked (default: all)")
    names = parser.parse_args(arguments).oracle
    found = dict(recorded()) if FILE.exists() else {}
    for name in names or [name for name in ORACLES if name not in NOT_RECORDED]:
        try:
            found[name] = _asked(oracle(name))
        except Unavailable as reason:
            print(f"{name} is not asked: {reason}", file=sys.stderr)
            return 1
        if not found[name].answers:
            print(f"{name} is not asked: no row of FAMILIES in conformance/ops/jobs.py names it", file=sys.stderr)
            return 1
        print(f"{name}: {len(found[name].answers)} cases")
    _write(found)
    print(f"{FILE.stat().st_size} bytes")
    recorded.cache_clear()
    pin("sampled", {name: replay(name).known for name in names or recorded()})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
