"""Measure the time that the scoreboard of `halfulp.cocotb` takes for a transaction: the model and the comparison,
without a simulator.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.rows import Disagreement, Measured, Row, Sizes, Target, best

WAYS: dict[str, tuple[dict[str, Any], float | None]] = {
    "in batches": ({}, 50),
    "one by one": ({"immediate": True}, 333),
    "in batches, with coverage of B1 and B3": ({"models": ["B1", "B3"]}, None),
}
"""For each name of a row: the options of a scoreboard, and the target for a transaction in microseconds. The targets
are 20,000 and 3,000 transactions a second.
"""

OPS = (("arith.mulf", "bf16"), ("math.fma", "bf16"))


def rows() -> Iterator[Row]:
    for op, type in OPS:
        for way, (options, most) in WAYS.items():
            if "models" in options and op != "arith.mulf":
                continue  # B3 is not about fused products
            name = f"scoreboard of cocotb: {type} {op.partition('.')[2]}, {way}"
            yield Row("vectors", name, partial(scoring, op, type, options), target=Target(most=most), unit="us")


def scoring(op: str, type: str, options: dict[str, Any], sizes: Sizes) -> Measured:
    from halfulp.cocotb import Reference, Scoreboard

    reference = Reference(op, type)
    sent = list(reference.stimulus("weighted", n=max(sizes.ops // 4, 10)))
    received = reference.predict_rows([tuple(given.values()) for given in sent])

    def run() -> None:
        board = Scoreboard(reference, **options)
        for given, made in zip(sent, received, strict=True):
            board.sent(**given)
            board.received(**made)
        if board.check().rows != len(sent):
            raise Disagreement("transactions are missing")

    (seconds,) = best(run, rounds=min(sizes.rounds, 3))
    return Measured(seconds / len(sent) * 1e6)
