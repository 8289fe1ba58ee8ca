// An adder of f8E4M3FN (1 sign bit, 4 exponent bits of bias 7, 3 fraction bits; no infinities, S.1111.111 is NaN):
// it rounds to nearest even, keeps subnormals, and returns NaN if the sum is too large.
//
// The format is narrow: both operands fit into 18 bits of fixed point, in units of the smallest subnormal, 2**-9. So the
// sum is exact without any alignment, and must only be rounded once.
module f8_add (
    input  logic [7:0] a,
    input  logic [7:0] b,
    output logic [7:0] result,
    output logic [4:0] flags  // invalid, division by zero, overflow, underflow, inexact
);
  localparam logic [6:0] NAN = 7'h7F;

  // |code| in units of 2**-9; subnormals have the exponent of the smallest normal numbers.
  function automatic logic [17:0] fixed(input logic [6:0] code);
    return code[6:3] == 0 ? 18'(code[2:0]) : 18'({1'b1, code[2:0]}) << (code[6:3] - 4'd1);
  endfunction

  // The exponent field of a sum: 0 below 8 units, then 1 more for each binade.
  function automatic logic [4:0] exponent(input logic [18:0] units);
    exponent = 0;
    for (int k = 3; k < 19; k++) if (units[k]) exponent = 5'(k - 2);
  endfunction

  wire signed [19:0] x = a[7] ? -20'(fixed(a[6:0])) : 20'(fixed(a[6:0]));
  wire signed [19:0] y = b[7] ? -20'(fixed(b[6:0])) : 20'(fixed(b[6:0]));
  wire signed [19:0] sum = x + y;
  wire negative = sum == 0 ? a[7] & b[7] : sum[19];  // -0 only if both operands are -0
  wire [18:0] units = 19'(sum[19] ? -sum : sum);

  wire [4:0] field = exponent(units);
  wire [4:0] shift = field == 0 ? 5'd0 : field - 5'd1;
  wire [18:0] kept = units >> shift;
  wire [18:0] lost = units - (kept << shift);
  wire [18:0] half = 19'd1 << shift >> 1;
  wire up = lost > half || (lost == half && shift != 0 && kept[0]);

  // A carry out of the fraction moves into the exponent by itself.
  wire [7:0] rounded = {field, kept[2:0]} + 8'(up);
  wire overflow = rounded >= 8'(NAN);
  wire nan = a[6:0] == NAN || b[6:0] == NAN;

  wire [7:0] nan_operand = a[6:0] == NAN ? a : b;

  assign result = nan ? nan_operand : {negative, overflow ? NAN : rounded[6:0]};
  // A sum of two subnormals is exact, so there is no underflow. There are no infinities, so nothing is invalid.
  assign flags = nan ? 5'd0 : {2'b00, overflow, 1'b0, overflow || lost != 0};
endmodule
