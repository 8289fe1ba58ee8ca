// RUN: %halfulp run %s --function=add --input=f8E4M3FN=1.375 --input=f8E4M3FN=2.25 | %filecheck %s --check-prefix=ADD
// ADD: result[0]: f8E4M3FN=3.5

// RUN: %halfulp run %s --function=fused --input=f32=1.5 --input=f32=0x1p-24 | %filecheck %s --check-prefix=FUSED
// FUSED: result[0]: f32=1.5000001

func.func @add(%a: f8E4M3FN, %b: f8E4M3FN) -> f8E4M3FN {
  %s = arith.addf %a, %b : f8E4M3FN
  return %s : f8E4M3FN
}

func.func @fused(%a: f32, %b: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %r = math.fma %a, %one, %b upward : f32
  return %r : f32
}
