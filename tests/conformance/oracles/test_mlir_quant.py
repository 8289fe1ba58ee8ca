"""MLIR's lowering of quant as an oracle: per layer, channel and block it does what the rows say, and otherwise agrees."""

import numpy as np
import pytest
from fake_oracle import results

from halfulp.conformance.comparing.check import check
from halfulp.conformance.comparing.divergences import divergences
from halfulp.conformance.comparing.inputs import every_input, sampled_inputs
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.mlir_fold import MlirQuant
from halfulp.conformance.oracles.oracle import ClosedProgram, Status
from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.loading import parse_module
from halfulp.interp.values.value import Value
from halfulp.semantics.profile import PROFILES

pytestmark = pytest.mark.mlir

PER_LAYER = [
    ("!quant.uniform<i8:f32, 2.0:10>", "f32"),
    ("!quant.uniform<u8:f32, 0.1:128>", "f32"),
    ("!quant.uniform<i4<-5:6>:f16, 0.3:1>", "f16"),
    ("!quant.uniform<i8:bf16, 0.3:1>", "bf16"),
    ("!quant.uniform<i16:f64, 0.3>", "f64"),
    ("!quant.uniform<u3:f8E5M2, 0.5:1>", "f8E5M2"),
    ("!quant.uniform<i1:f32, 1.0>", "f32"),
    ("!quant.uniform<i32:f32, 1.0:-7>", "f32"),
    ("!quant.uniform<i8:f128, 0.3:1>", "f128"),
]
ALONG_AXES = [
    ("!quant.uniform<i8<-100:100>:f32:0, {2.0:10, 3.0, 0.1:-4}>", "f32"),
    ("!quant.uniform<u8:f16:1, {2.0:10, 3.0:3}>", "f16"),
    ("!quant.uniform<i8:f32:{0:1, 1:2}, {{2.0:10, 3.0:5}, {1.0:1, 4.0:2}}>", "f32"),
    ("!quant.uniform<i8:f32:{0:2}, {{2.0:10}, {3.0:5}}>", "f32"),
]


@pytest.fixture(scope="module")
def lowering() -> MlirQuant:
    found = oracle("mlir-quant")
    assert isinstance(found, MlirQuant)
    return found


@pytest.mark.parametrize(("quantized", "expressed"), PER_LAYER + ALONG_AXES)
def test_casts_agree_but_for_the_rows(lowering: MlirQuant, quantized: str, expressed: str) -> None:
    back = op_case("quant.dcast", quantized, expressed)
    inputs = sampled_inputs(back, 100)
    tally = check(lowering, back, inputs, divergences())
    assert tally.clean
    assert not tally.unanswered
    assert not tally.known
    storage = "i" + quantized[len("!quant.uniform<") + 1 :].partition(":")[0].partition("<")[0]
    tally = check(lowering, op_case("quant.scast", quantized, storage), inputs, divergences())
    assert tally.equal == tally.compared > 0
    there = op_case("quant.qcast", expressed, quantized)
    tally = check(lowering, there, sampled_inputs(there, 200), divergences())
    assert tally.clean
    assert tally.equal
    # What is poison to the folder is executed, in types that there is code for.
    assert bool(tally.unanswered) == (expressed in ("f8E5M2", "f128"))
    assert not tally.reformed
    predicted = check(lowering, there, sampled_inputs(there, 200), (), PROFILES["mlir22-quant"])
    assert predicted.clean, predicted.mismatches
    assert predicted.equal


def test_every_f16(lowering: MlirQuant) -> None:
    asked = op_case("quant.qcast", "f16", "!quant.uniform<i8:f16, 0.5:3>")
    tally = check(lowering, asked, every_input(asked), divergences())
    assert tally.clean
    assert not tally.unanswered
    assert set(tally.known) == {"qcast toward zero", "qcast out of the storage type"}


def test_fractions_are_dropped_and_what_is_out_of_range_wraps(lowering: MlirQuant) -> None:
    asked = op_case("quant.qcast", "f32", "!quant.uniform<i8:f32, 1.0>")
    inputs = (np.array([1.5, -1.5, 597.0], np.float32).view(np.uint32),)
    tally = check(lowering, asked, inputs)
    answer = lowering.evaluate(asked, inputs)[0]
    assert answer.bits.astype(np.int8).tolist() == [1, -1, 85]
    assert answer.status is None
    assert tally.unexplained == 3


CORNERS = [597, 127.9, 128, 129, 255.5, 300, 4e4, 65535, 65536, 7e4, 2.0**24 + 16, 2.0**31 - 128, 2.0**31, 2.0**31 + 4096,
           2.0**32 - 256, 2.0**32 + 1024, 3e9, 1e10, 9.3e18, 1e30, float("inf"), float("nan"), 0.9, 1.5]  # fmt: skip


@pytest.mark.parametrize("expressed", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize(
    "storage", ["i4<-5:6>", "i8", "u8<3:200>", "i17", "i17<-9:9>", "u17<3:70000>", "u24", "i32", "u32<1:4000000000>"]
)
def test_what_is_out_of_range_is_predicted_to_the_bit(lowering: MlirQuant, expressed: str, storage: str) -> None:
    source = np.array([*CORNERS, *(-x for x in CORNERS)])
    codes = conversions.convert(FORMATS["f64"], FORMATS[expressed], source.view(np.uint64)).codes
    for quantized, inputs in [
        (f"!quant.uniform<{storage}:{expressed}, 1.0>", codes),
        (f"!quant.uniform<{storage}:{expressed}:0, {{1.0, 0.25}}>", np.stack([codes, codes])),
    ]:
        asked = op_case("quant.qcast", expressed, quantized)
        tally = check(lowering, asked, (inputs,), divergences())
        assert tally.clean, tally.mismatches
        assert not tally.unanswered
        assert not tally.reformed
        assert tally.known


def test_other_dialects_are_refused(lowering: MlirQuant) -> None:
    assert lowering.refuses(op_case("arith.addf", "f32")) == "arith.addf is not of the quant dialect"


PROGRAMS = """
!q = !quant.uniform<i8:f32, 0.5:3>
!c = !quant.uniform<i8:f32:0, {0.5, 2.0}>
func.func private @quantize(%x: f32) -> !q {
  %q = quant.qcast %x : f32 to !q
  return %q : !q
}
func.func @stored(%x: f32) -> (i8, f32) {
  %q = func.call @quantize(%x) : (f32) -> !q
  %s = quant.scast %q : !q to i8
  %d = quant.dcast %q : !q to f32
  return %s, %d : i8, f32
}
func.func @tensor(%x: tensor<3xf32>) -> tensor<3x!q> {
  %q = quant.qcast %x : tensor<3xf32> to tensor<3x!q>
  return %q : tensor<3x!q>
}
func.func @channels(%x: tensor<2xf32>) -> (tensor<2x!c>, tensor<2xf32>) {
  %q = quant.qcast %x : tensor<2xf32> to tensor<2x!c>
  %r = quant.dcast %q : tensor<2x!c> to tensor<2xf32>
  return %q, %r : tensor<2x!c>, tensor<2xf32>
}
"""


def test_programs(lowering: MlirQuant) -> None:
    module = parse_module(PROGRAMS)
    scalar = Value.from_numpy(np.float32(1.3), "f32")
    three = Value.from_numpy(np.array([1.0, 1.9, -1.9], np.float32))
    two = Value.from_numpy(np.array([1.0, 1.9], np.float32))
    replies = lowering.run(
        [
            ClosedProgram(module, "stored", (scalar,)),
            ClosedProgram(module, "tensor", (three,)),
            ClosedProgram(module, "channels", (two,)),
        ]
    )
    stored, tensor, channels = map(results, replies)
    assert int(stored[0].bits) == 5
    assert stored[1].bits.view(np.float32) == 1.0
    assert tensor[0].bits.view(np.int8).tolist() == [5, 6, 0]
    # A loop over channels does not fold; a cast there and back is taken for the identity.
    assert np.all(channels[0].status == Status.UNANSWERED)
    assert channels[1].bits.view(np.float32).tolist() == two.numpy().tolist()
