// tanh in bf16 (1 sign bit, 8 exponent bits of bias 127, 7 fraction bits), rounded once to nearest even. It keeps
// subnormals, and returns the NaN 7FC0 for every NaN. The result comes one clock edge after the operand.
//
// All numbers are fixed point, in three ranges of the magnitude x:
//   below 2**-5      x * (1 - x**2 / 3 + 2 * x**4 / 15), with 32 bits behind the last bit of x
//   from 2**-5 to 4  (1 - e) / (1 + e), where e = exp(-2 * x), with 31 fraction bits
//   from 4           1
// The bench tries every operand: no exact result lies so near to the middle of two values that these bits are too few.
module bf16_tanh (
    input  logic        clk,
    input  logic        valid_in,
    input  logic [15:0] a,
    output logic        valid_out,
    output logic [15:0] result,
    output logic [4:0]  flags  // invalid, division by zero, overflow, underflow, inexact
);
  localparam logic [14:0] INFINITY = 15'h7F80;
  localparam logic [14:0] ONE = 15'h3F80;
  // With 31 fraction bits: 1 and ln 2. With 20: 1 / ln 2. With 32: 1/3 and 2/15.
  localparam logic signed [63:0] UNIT = 64'sh8000_0000;
  localparam logic signed [63:0] LN2 = 64'sh58B9_0BFC;
  localparam logic [63:0] LOG2E = 64'h17_1547;
  localparam logic [63:0] THIRD = 64'h5555_5555;
  localparam logic [63:0] TWO_FIFTEENTHS = 64'h2222_2222;

  wire [14:0] x = a[14:0];
  wire [8:0] field = x[14:7] == 0 ? 9'd1 : 9'(x[14:7]);
  wire [7:0] significand = {x[14:7] != 0, x[6:0]};  // x is significand * 2**(field - 134)
  wire low = field < 122;
  wire high = field >= 129;

  // Below 2**-5.
  wire [63:0] square = (64'(16'(significand) * 16'(significand)) << 6) >> (9'd2 * (9'd121 - field));
  wire [63:0] fourth = (square * square) >> 32;
  wire [63:0] factor = (64'd1 << 32) - ((square * THIRD) >> 32) + ((fourth * TWO_FIFTEENTHS) >> 32);
  wire [63:0] low_value = 64'(significand) * factor;

  // From 2**-5 to 4: exp(-r) by its series, for r from 0 to ln 2.
  function automatic logic signed [63:0] exponential(input logic signed [63:0] r);
    exponential = UNIT;
    for (int n = 12; n > 0; n--) exponential = UNIT - ((r * exponential) >>> 31) / n;
  endfunction

  wire signed [63:0] twice = low || high ? 64'sd0 : $signed(64'(significand) << (field - 9'd102));
  wire [3:0] binades = 4'((twice * LOG2E) >> 51);
  wire signed [63:0] power = exponential(twice - $signed(64'(binades)) * LN2) >>> binades;
  wire signed [63:0] value = ((UNIT - power) <<< 31) / (UNIT + power);

  // One rounding for both. The last bit of a subnormal result is 2**-133.
  function automatic logic [6:0] leading(input logic [63:0] bits);
    leading = 0;
    for (int k = 0; k < 64; k++) if (bits[k]) leading = 7'(k);
  endfunction

  wire [63:0] bits = low ? low_value : value;
  wire [6:0] lead = leading(bits);
  wire signed [10:0] exponent = low ? 11'(lead) + 11'(field) - 11'sd39 : 11'(lead) + 11'sd96;
  wire subnormal = exponent < 1;
  wire [6:0] cut = subnormal ? 7'd33 - 7'(field) : lead - 7'd7;
  wire [63:0] kept = bits >> cut;
  wire [63:0] lost = bits & ((64'd1 << cut) - 64'd1);
  wire [63:0] half = 64'd1 << cut >> 1;
  wire up = lost > half || (lost == half && kept[0]);
  // A carry out of the fraction moves into the exponent by itself.
  wire [14:0] rounded = {subnormal ? 8'd0 : exponent[7:0], kept[6:0]} + 15'(up);

  wire nan = x > INFINITY;
  wire infinite = x == INFINITY;

  always_ff @(posedge clk) begin
    valid_out <= valid_in;
    if (nan) begin
      result <= 16'h7FC0;
      flags <= {!x[6], 4'd0};
    end else begin
      result <= {a[15], x == 0 ? 15'd0 : high ? ONE : rounded};
      // Only zero and infinity have exact results. Of a subnormal operand, the result is tiny.
      flags <= {3'd0, x != 0 && x[14:7] == 0, x != 0 && !infinite};
    end
  end
endmodule
