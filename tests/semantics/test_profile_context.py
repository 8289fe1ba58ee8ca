"""The profile of a `with` block: what it applies to, nesting, threads, tasks, worker processes and the command line."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from typing import Any

import pytest

import halfulp as hu
from halfulp.command.main import main
from halfulp.semantics.profile import PROFILES, SPEC, as_profile, current_profile

F8_NAN, F8_MAX = 0x7F, 0x7E
NARROW = "func.func @f(%x: f32) -> f8E4M3FN { %0 = arith.truncf %x : f32 to f8E4M3FN return %0 : f8E4M3FN }"


def rounded(**given: Any) -> list[int | None]:
    """Return the code of 1000 in f8E4M3FN by each function that takes a profile."""
    x = hu.Value.from_numpy(1000.0, "f32")
    return [
        int(hu.convert(x, "f8E4M3FN", **given).bits),
        int(hu.eval("arith.truncf", x, to="f8E4M3FN", **given).bits),
        int(hu.run(NARROW, x, **given)[0].bits),
        int(hu.trace(NARROW, x, **given).results[0].bits),
        hu.explain(1000, "f8E4M3FN", **given).result.code,
        hu.explain_op("arith.truncf", x, type="f32", to="f8E4M3FN", **given).result,
    ]


def test_a_block_sets_the_profile_that_is_left_out() -> None:
    assert set(rounded()) == {F8_NAN}
    with hu.profile("ocp-saturate") as chosen:
        assert chosen is PROFILES["ocp-saturate"] is current_profile() is as_profile(None)
        assert set(rounded()) == {F8_MAX}
        assert set(rounded(profile="spec")) == {F8_NAN}
    assert set(rounded()) == {F8_NAN}
    assert set(rounded(profile="ocp-saturate")) == {F8_MAX}


@pytest.mark.parametrize(
    "choice", ["spec,conversion_overflow=saturate", hu.Profile(base="spec", conversion_overflow="saturate")]
)
def test_a_block_takes_fields_and_profiles(choice: Any) -> None:
    with hu.profile(choice):
        assert set(rounded()) == {F8_MAX}


def test_blocks_nest_and_end_with_errors() -> None:
    with hu.profile("ocp-saturate"):
        with hu.profile("ml_dtypes"):
            assert current_profile() is PROFILES["ml_dtypes"]
        assert current_profile() is PROFILES["ocp-saturate"]
        with suppress(RuntimeError), hu.profile("ml_dtypes"):
            raise RuntimeError
        assert current_profile() is PROFILES["ocp-saturate"]
    assert current_profile() is SPEC


@pytest.mark.parametrize("choice", ["spek", "spec,colour=red", "spec,denormals", None, 3])
def test_a_wrong_profile_is_refused_before_the_block(choice: Any) -> None:
    with pytest.raises(ValueError, match="profile"):
        hu.profile(choice)


@pytest.mark.long
def test_threads_do_not_see_each_other() -> None:
    names = ["spec", "ocp-saturate"] * 4
    barrier = Barrier(len(names))

    def work(name: str) -> list[set[int | None]]:
        barrier.wait()
        with hu.profile(name):
            return [set(rounded()) for _ in range(20)]

    with hu.profile("ocp-saturate"), ThreadPoolExecutor(len(names)) as pool:
        found = list(pool.map(work, names))
    assert found == [[{F8_NAN if name == "spec" else F8_MAX}] * 20 for name in names]


def test_a_new_thread_starts_with_spec() -> None:
    with hu.profile("ocp-saturate"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(current_profile).result() is SPEC


def test_tasks_do_not_see_each_other() -> None:
    async def work(name: str) -> list[str]:
        seen = []
        with hu.profile(name):
            for _ in range(5):
                await asyncio.sleep(0)
                seen.append(current_profile().name)
        return seen

    async def both() -> list[list[str]]:
        return list(await asyncio.gather(work("ocp-saturate"), work("ml_dtypes")))

    assert asyncio.run(both()) == [["ocp-saturate"] * 5, ["ml_dtypes"] * 5]


def test_the_command_line_is_outside_of_every_block(capsys: pytest.CaptureFixture[str]) -> None:
    with hu.profile("ocp-saturate"):
        assert main(["eval", "arith.truncf", "--input=f32=1000", "--to=f8E4M3FN"]) == 0
        assert main(["explain", "1000", "f8E4M3FN"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "result[0]: f8E4M3FN=nan"
    assert rest[0] == "1000 in f8E4M3FN, to_nearest_even, profile spec"


def test_a_mismatch_of_types_is_a_type_error() -> None:
    with pytest.raises(TypeError) as caught:
        hu.Value.from_numpy(1.5, "i8")
    assert isinstance(caught.value, hu.TypeMismatch)


def test_one_context_manager_serves_many_blocks() -> None:
    saturating = hu.profile("ocp-saturate")
    with saturating, hu.profile("ml_dtypes"), saturating:
        assert current_profile().name == "ocp-saturate"
    with saturating:
        assert hu.convert(1000.0, "f8E4M3FN").item() == 448
    assert current_profile().name == "spec"
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: saturating.__enter__().name, range(50))) == {"ocp-saturate"}
    assert current_profile().name == "spec"

    decorator: Any = saturating
    assert decorator(lambda: hu.convert(1000.0, "f8E4M3FN").item())() == 448
