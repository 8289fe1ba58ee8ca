"""Complex numbers: each part as arith computes it, and the ops that are not run."""

import numpy as np
import pytest

import halfulp as hu

F32 = """
func.func @f(%a: complex<f32>, %b: complex<f32>)
    -> (complex<f32>, complex<f32>, complex<f32>, complex<f32>, complex<f32>, i1, i1) {
  %0 = complex.add %a, %b : complex<f32>
  %1 = complex.sub %a, %b : complex<f32>
  %2 = complex.neg %a : complex<f32>
  %3 = complex.conj %a : complex<f32>
  %re = complex.re %a : complex<f32>
  %im = complex.im %b : complex<f32>
  %4 = complex.create %im, %re : complex<f32>
  %5 = complex.eq %a, %b : complex<f32>
  %6 = complex.neq %a, %b : complex<f32>
  return %0, %1, %2, %3, %4, %5, %6
    : complex<f32>, complex<f32>, complex<f32>, complex<f32>, complex<f32>, i1, i1
}"""
PARTS = np.array([0.0, -0.0, 1.5, -2.25, np.inf, np.nan, 3e38], np.float32)
NUMBERS = np.array([complex(re, im) for re in PARTS for im in PARTS], np.complex64)
ONE = np.repeat(NUMBERS, len(NUMBERS))
OTHER = np.tile(NUMBERS, len(NUMBERS))


def test_all_pairs_of_special_values() -> None:
    with np.errstate(all="ignore"):
        found = hu.run(F32, ONE, OTHER, batch=True)
        wanted = [
            (ONE.real + OTHER.real, ONE.imag + OTHER.imag),
            (ONE.real - OTHER.real, ONE.imag - OTHER.imag),
            (-ONE.real, -ONE.imag),
            (ONE.real, -ONE.imag),
            (OTHER.imag, ONE.real),
        ]
    for value, (real, imaginary) in zip(found, wanted, strict=False):
        result = value.numpy()
        for part, expected in ((result.real, real), (result.imag, imaginary)):
            nan = np.isnan(expected)
            assert np.array_equal(np.isnan(part), nan)
            assert np.array_equal(part[~nan].view(np.uint32), expected[~nan].astype(np.float32).view(np.uint32))
    equal = (ONE.real == OTHER.real) & (ONE.imag == OTHER.imag)
    assert np.array_equal(found[5].numpy(), equal)
    assert np.array_equal(found[6].numpy(), ~equal)


def test_numbers_are_arguments_and_elements() -> None:
    assert hu.run(F32, 1 + 2j, 3)[0].numpy() == np.complex64(4 + 2j)
    with pytest.raises(hu.TypeMismatch, match="dtype complex128"):
        hu.run(F32, np.complex128(1), 3)
    module = """func.func @f(%t: tensor<2xcomplex<f64>>, %i: index) -> tensor<2xcomplex<f64>> {
  %c = complex.constant [1.5, -2.0] : complex<f64>
  %0 = tensor.extract %t[%i] : tensor<2xcomplex<f64>>
  %1 = complex.add %c, %0 : complex<f64>
  %2 = tensor.insert %1 into %t[%i] : tensor<2xcomplex<f64>>
  return %2 : tensor<2xcomplex<f64>>
}"""
    assert hu.run(module, np.array([1j, 2]), 1)[0].numpy().tolist() == [1j, 3.5 - 2j]


def test_wide_parts() -> None:
    module = """func.func @f(%a: f128) -> f128 {
  %0 = complex.create %a, %a : complex<f128>
  %1 = complex.sub %0, %0 : complex<f128>
  %2 = complex.add %0, %1 : complex<f128>
  %3 = complex.conj %2 : complex<f128>
  %4 = complex.im %3 : complex<f128>
  return %4 : f128
}"""
    assert repr(hu.run(module, 1.5)[0]) == "Value(f128=-1.5)"


def test_a_forbidden_part_spoils_the_number() -> None:
    module = """func.func @f(%a: complex<f32>) -> (f32, complex<f32>) {
  %0 = complex.re %a fastmath<nnan> : complex<f32>
  %1 = complex.add %a, %a fastmath<ninf> : complex<f32>
  return %0, %1 : f32, complex<f32>
}"""
    real, total = hu.run(module, np.complex64(complex(1, np.nan)))
    assert bool(real.poisoned)
    assert not total.poisoned.any()
    assert bool(hu.run(module, np.complex64(complex(3e38, 0)))[1].poisoned)


def test_what_is_not_run_is_named() -> None:
    with pytest.raises(hu.Unsupported, match=r"cannot execute 'complex\.mul'"):
        hu.run("func.func @f(%a: complex<f32>) -> complex<f32> {\n"
               "  %0 = complex.mul %a, %a : complex<f32>\n  return %0 : complex<f32>\n}", 1j)  # fmt: skip
