"""hu.check: values and files of devices; a fault that is planted is named, don't-care bits do not count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from planted_devices import Plant, byte_swapped, flags_reversed, twice_rounded

import halfulp as hu
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.golden.vectors import Vectors


@pytest.fixture(scope="module")
def products() -> Vectors:
    return hu.vectors("arith.mulf", "bf16", level="weighted", n=2000)


def test_right_results_are_equal(products: Vectors) -> None:
    codes = products.columns_as_codes
    for results in (products["result"], codes["result"], codes["result"].tolist(), products["result"].numpy()):
        report = hu.check(products, results, codes["flags"])
        assert report.equal, str(report)
        assert str(report) == "arith.mulf bf16: 2,000 rows, none differs"
    assert hu.check(products, products["result"]).equal


def test_a_wrong_rounding_is_named(products: Vectors) -> None:
    device = hu.eval("arith.mulf", products["a"], products["b"], rounding="downward")
    report = hu.check(products, device, n=3)
    assert not report.equal
    assert report.cause == "rounding=downward"
    assert len(report.mismatches) == 3
    assert report.differing == int((device.bits != products["result"].bits).sum())
    assert report.to_json()["explanations"][0]["name"] == "rounding=downward"
    assert "are what rounding=downward gives" in str(report)


def test_wrong_flags_are_found(products: Vectors) -> None:
    flags = products.columns_as_codes["flags"].copy()
    flags &= ~np.uint8(1)
    report = hu.check(products, products["result"], flags)
    assert report.differing == int((products.columns_as_codes["flags"] & 1).sum())
    assert "inexact" in (report.cause or "")


@pytest.mark.parametrize("plant", [byte_swapped, flags_reversed, twice_rounded], ids=lambda plant: plant.__name__)
def test_planted_faults_are_named_first(plant: Callable[[np.random.Generator], Plant]) -> None:
    """Some of the faults of tests/planted_devices.py, as arrays in memory."""
    made = plant(np.random.Generator(np.random.PCG64(3)))
    columns = [column.name for column in made.computation.outputs]
    given = dict(zip(columns, made.outputs, strict=True))
    operands = made.rows[: len(made.computation.inputs)]
    report = hu.check(Vectors(Recipe(made.computation)), given["result"], given["flags"], operands=operands)
    assert (report.cause or "").startswith(made.name), str(report)


def test_operands_of_ones_own() -> None:
    """1.5 * 1.5 = 2.25, a tie in f4E2M1FN between 2 and 3: to the even significand, 2."""
    vectors = hu.vectors("arith.mulf", "f4E2M1FN")
    x = hu.convert([1.5, 1.0], "f4E2M1FN")
    assert hu.check(vectors, hu.convert([2.0, 1.0], "f4E2M1FN"), operands=(x, x)).equal
    report = hu.check(vectors, hu.convert([3.0, 1.0], "f4E2M1FN"), operands=(x, x))
    assert (report.rows, report.differing) == (2, 1)


def test_poison_and_open_bits_do_not_count() -> None:
    integers = hu.vectors("arith.fptosi", "f16", to="i8")
    codes = integers.columns_as_codes
    results = np.where(codes["poison"] == 1, 0x55, codes["result"]).astype(np.uint8)
    assert hu.check(integers, results).equal
    assert not hu.check(integers, results ^ 1).equal
    zeros = hu.vectors("arith.addf", "f8E4M3FN", n=500, fastmath="nsz")
    codes = zeros.columns_as_codes
    assert hu.check(zeros, codes["result"] ^ codes["open"]).equal
    assert hu.check(zeros, codes["result"] ^ 0x80).differing == int((codes["open"] == 0).sum())


def test_any_nan() -> None:
    vectors = hu.vectors("arith.divf", "f16", n=3000)
    codes = vectors.columns_as_codes["result"]
    nan = (codes & 0x7FFF) > 0x7C00
    assert nan.any()
    results = np.where(nan, 0x7FFF, codes).astype(np.uint16)
    assert not hu.check(vectors, results).equal
    assert hu.check(vectors, results, any_nan=True).equal


def test_files(tmp_path: Path) -> None:
    vectors = hu.vectors("arith.addf", "f8E4M3FN", n=400)
    metadata = vectors.write(tmp_path)
    golden = metadata.with_suffix(".tv")
    assert "all rows equal those of the golden set" in str(hu.check(golden))
    lines = golden.read_text().splitlines()
    device = tmp_path / "device.tv"
    device.write_text(
        "\n".join([*lines[:7], lines[7][:6] + f"{int(lines[7][6:8], 16) ^ 1:02X}" + lines[7][8:], *lines[8:]])
    )
    for report in (hu.check(vectors, device), hu.check(device, metadata=metadata)):
        assert [mismatch.row for mismatch in report.mismatches] == [7]
    device.write_text("\n".join(lines[:300]))
    short = hu.check(device, metadata=metadata)
    assert not short.equal
    assert short.differing == 0
    assert "300 rows, but" in str(short)
    assert hu.check(device, metadata=metadata, partial=True).equal


def test_what_does_not_fit_is_an_error(products: Vectors) -> None:
    codes = products.columns_as_codes["result"]
    with pytest.raises(hu.errors.InputError, match="3 results are given for 2,000 rows"):
        hu.check(products, codes[:3])
    with pytest.raises(hu.TypeMismatch, match="'result' has the type bf16, but 'f16' is given"):
        hu.check(products, hu.convert([1.0], "f16"))
    with pytest.raises(hu.TypeMismatch, match="bf16"):
        hu.check(products, np.zeros(2000, np.float32))
    with pytest.raises(hu.errors.InputError, match="'result' has 16 bits"):
        hu.check(products, np.full(2000, 1 << 16, np.uint32))
    with pytest.raises(hu.errors.InputError, match="'flags' has 5 bits"):
        hu.check(products, codes, [32] * 2000)
    with pytest.raises(hu.errors.InputError, match="the results are missing"):
        hu.check(products)
    with pytest.raises(hu.errors.InputError, match="need vectors"):
        hu.check("device.tv", codes)
    with pytest.raises(hu.errors.InputError, match="cannot read"):
        hu.check(products, "no such file.tv")
    with pytest.raises(hu.errors.InputError, match="2 arrays are given for the columns result"):
        hu.check(products, (codes, codes))
    with pytest.raises(hu.errors.InputError, match="the vectors have none"):
        hu.check(hu.vectors("arith.addi", "i8", n=5), [0] * 5, [0] * 5)
