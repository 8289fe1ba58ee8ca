// A multiply-accumulate unit for MX: four products of f8E4M3FN, one scale for each side, an accumulator in f32. A product is
// exact in f32. The unit adds the products to the accumulator one after the other, and rounds each sum to nearest even.
func.func @mac(%a: vector<4xf8E4M3FN>, %scale_a: f8E8M0FNU, %b: vector<4xf8E4M3FN>, %scale_b: f8E8M0FNU, %c: f32) -> f32 {
  %sa = vector.broadcast %scale_a : f8E8M0FNU to vector<4xf8E8M0FNU>
  %sb = vector.broadcast %scale_b : f8E8M0FNU to vector<4xf8E8M0FNU>
  %x = arith.scaling_extf %a, %sa : vector<4xf8E4M3FN>, vector<4xf8E8M0FNU> to vector<4xf32>
  %y = arith.scaling_extf %b, %sb : vector<4xf8E4M3FN>, vector<4xf8E8M0FNU> to vector<4xf32>
  %products = arith.mulf %x, %y : vector<4xf32>
  %sum = vector.reduction <add>, %products, %c : vector<4xf32> into f32
  return %sum : f32
}
