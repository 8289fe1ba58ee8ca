// A unit for NVFP4: four products of f4E2M1FN, a scale of f8E4M3FN for each side, and one scale in f32 for both tensors. The
// sum of the products is exact. The unit multiplies it by the scales, rounds once, and adds the result to the accumulator.
func.func @mac(%a: vector<4xf4E2M1FN>, %scale_a: f8E4M3FN, %b: vector<4xf4E2M1FN>, %scale_b: f8E4M3FN,
               %tensor_scale: f32, %c: f32) -> f32 {
  %zero = arith.constant -0.0 : f32
  %x = arith.extf %a : vector<4xf4E2M1FN> to vector<4xf32>
  %y = arith.extf %b : vector<4xf4E2M1FN> to vector<4xf32>
  %products = arith.mulf %x, %y : vector<4xf32>
  %sum = vector.reduction <add>, %products, %zero : vector<4xf32> into f32
  %sa = arith.extf %scale_a : f8E4M3FN to f32
  %sb = arith.extf %scale_b : f8E4M3FN to f32
  %scales = arith.mulf %sa, %sb : f32
  %block = arith.mulf %sum, %scales : f32
  %scaled = arith.mulf %block, %tensor_scale : f32
  %d = arith.addf %c, %scaled : f32
  return %d : f32
}
