"""The profile of a `with` block: what it applies to, nesting, threads, tasks, worker processes and the command line."""

import asyncio
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from amounts import thinned

import halfulp as hu
from halfulp.command.main import main
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.values.coerce import as_type, natural_dtypes
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


# --- profile ml dtypes ------------------------------------------------------------------------------------------------
#
# The profile ml_dtypes against the package as installed: conversions, arithmetic and negation of every code.
#
# What the package does beyond the profile's fields stands in a table with counts.

E8M0 = "f8E8M0FNU"
SMALL = [fmt for fmt in FORMATS.values() if fmt.bits <= 8]


def natural(fmt: FloatFormat, codes: Any) -> Any:
    return np.asarray(codes, fmt.storage_dtype).view(natural_dtypes()[as_type(fmt.name)])


def raw(array: Any) -> Any:
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def differences(found: hu.Value, theirs: Any) -> Any:
    assert found.poison is None
    return np.flatnonzero(found.bits != theirs)


NATURAL = [fmt for fmt in FORMATS.values() if fmt.name not in ("tf32", "f80", "f128")]
# Beyond the profile's fields: source, target, how many codes differ, which. Widening keeps the payload of a NaN, and
# its being signalling, in ml_dtypes as in NumPy.
CONVERSIONS = {
    ("f16", "f32"): (2044, "NaN"),
    ("f16", "f64"): (2044, "NaN"),
    ("bf16", "f32"): (252, "NaN"),
    ("bf16", "f64"): (252, "NaN"),
}


@pytest.mark.long
@pytest.mark.parametrize("source", [fmt for fmt in NATURAL if fmt.bits <= 16], ids=str)
def test_ml_dtypes_converts_every_code(source: FloatFormat) -> None:
    codes = np.arange(1 << source.bits)
    given = natural(source, codes)
    compared = 0
    for target in NATURAL:
        if target == source or (E8M0 in (source.name, target.name) and max(source.bits, target.bits) <= 8):
            continue  # the package has no casts between f8E8M0FNU and its other small types
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = raw(given.astype(natural_dtypes()[as_type(target.name)]))
        different = differences(hu.convert(given, target.name, profile="ml_dtypes"), theirs)
        count, which = CONVERSIONS.get((source.name, target.name), (0, ""))
        assert len(different) == count, (source.name, target.name)
        if which == "NaN":
            assert all(source.is_nan(int(code)) for code in codes[different])
        elif which:
            assert set(codes[different]) == set(range(0x41, 0x60))
        compared += 1
    assert compared >= 4


def test_ml_dtypes_rounds_wide_sources_twice() -> None:
    rng = np.random.default_rng(3)
    mantissas = rng.integers(0, 1 << 7, 4000).astype(np.uint64) << np.uint64(45)
    near_ties = mantissas + rng.choice(np.array([0, 1, 2**23, 2**28, 2**29], np.uint64), 4000)
    exponents = (rng.integers(1023 - 20, 1023 + 20, 4000).astype(np.uint64)) << np.uint64(52)
    doubles = (near_ties | exponents | rng.integers(0, 2, 4000).astype(np.uint64) << np.uint64(63)).view(np.float64)
    integers = rng.integers(-(1 << 62), 1 << 62, 4000) >> rng.integers(0, 62, 4000)
    twice = 0
    for target in NATURAL:
        if target.bits > 16 or target.name in ("f16", E8M0):  # f16 is NumPy's own, which rounds once
            continue
        for given in (doubles, doubles.astype(np.float32), integers):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = raw(given.astype(natural_dtypes()[as_type(target.name)]))
            found = hu.convert(given, target.name, profile="ml_dtypes")
            assert not len(differences(found, theirs)), target.name
            twice += int(np.count_nonzero(found.bits != hu.convert(given, target.name).bits))
    assert twice > 50  # so that the two ways are told apart


ARITHMETIC = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}


@pytest.mark.parametrize("fmt", thinned(SMALL, 3), ids=str)
def test_ml_dtypes_computes_every_pair(fmt: FloatFormat) -> None:
    """All pairs. Of two NaN operands the package may keep either's sign, as the compiler pleased; its maximum and minimum
    return operands as they are, NaN payloads and the wrong zero of two included; its products and quotients in
    f8E8M0FNU pass through f32, where they may become zero, which is NaN here.
    """
    a, b = (np.ravel(x) for x in np.meshgrid(np.arange(1 << fmt.bits), np.arange(1 << fmt.bits)))
    x, y = natural(fmt, a), natural(fmt, b)
    magnitude = fmt.code_mask >> fmt.signed
    for op, function in ARITHMETIC.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = raw(function(x, y))
        found = hu.eval(f"arith.{op}", x, y, profile="ml_dtypes")
        different = differences(found, theirs)
        if fmt.name == E8M0 and op in ("mulf", "divf"):
            assert len(different) == 5565
            assert (found.bits[different] == 0).all()
            assert (theirs[different] == 0xFF).all()
            continue
        for k in different:
            nans = fmt.is_nan(int(a[k])) + fmt.is_nan(int(b[k]))
            if op in ("addf", "subf", "mulf", "divf", "remf"):
                assert nans, (op, a[k], b[k])
                assert found.bits[k] & magnitude == theirs[k] & magnitude
            else:
                zeros = fmt.is_zero(int(a[k])) and fmt.is_zero(int(b[k]))
                assert zeros or (nans and theirs[k] in (a[k], b[k])), (op, a[k], b[k])


@pytest.mark.parametrize("fmt", [fmt for fmt in SMALL if fmt.signed], ids=str)
def test_ml_dtypes_negates_every_code(fmt: FloatFormat) -> None:
    codes = np.arange(1 << fmt.bits)
    given = natural(fmt, codes)
    assert not len(differences(hu.eval("arith.negf", given, profile="ml_dtypes"), raw(np.negative(given))))
