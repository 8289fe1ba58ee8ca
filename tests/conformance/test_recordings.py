"""What real tools answered, recorded: compared here where none of them need be installed."""

from __future__ import annotations

import pytest

from halfulp.conformance.check import Tally, check
from halfulp.conformance.divergences import divergences
from halfulp.conformance.inputs import inputs_for
from halfulp.conformance.recordings import FILE, recorded
from halfulp.conformance.sweep import jobs

MAX_BYTES = 5_000_000


@pytest.mark.parametrize("name", sorted(recorded()))
def test_recorded_answers_are_explained(name):
    source = recorded()[name]
    total = Tally()
    asked = 0
    for job in jobs("sample", oracles=[name]):
        for inputs in inputs_for(job.task, job.count, job.seed, job.bits):
            total.add(check(source, job.task, inputs, divergences()))
        asked += 1
    assert asked == len(source.answers)
    assert total.failures == []
    assert total.mismatches == []
    assert total.unexplained == 0
    assert total.compared > 10_000 or name == "mlir-quant"
    # Each divergence that speaks of this tool shows itself.
    rows = [row for row in divergences() if name in row.tools and source.version.startswith(row.versions)]
    spoken = {row.name for row in rows if not row.sporadic}
    assert spoken <= set(total.known), spoken - set(total.known)


def test_the_recording_is_small():
    assert FILE.stat().st_size < MAX_BYTES
