// A multiply-add in fixed point: 16 bits with 12 of them behind the point, rounded to nearest with halves up, saturated.
// ../datapaths/fixed_point.mlir says the same in MLIR.
module multiply_add (
  input  logic signed [15:0] a,
  input  logic signed [15:0] b,
  input  logic signed [15:0] c,
  output logic signed [15:0] result
);
  // The product has 24 bits behind the point, and so has the sum.
  wire signed [33:0] sum = 34'(a) * 34'(b) + (34'(c) <<< 12) + 34'sd2048;
  wire signed [21:0] rounded = sum[33:12];

  assign result = rounded > 22'sd32767 ? 16'sh7FFF : rounded < -22'sd32768 ? 16'sh8000 : rounded[15:0];
endmodule
