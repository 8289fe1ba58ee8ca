// A fused multiply-add unit of bf16 (1 sign bit, 8 exponent bits of bias 127, 7 fraction bits): a * b + c, rounded once to
// nearest even. It keeps subnormals, detects tininess after rounding, and returns the NaN 7FC0 for every NaN, as RISC-V
// does. Three stages with valid and ready on both sides: all of them stand still while the results are not taken.
//
// Exponents count from that of the smallest product of two significands, 2**-266, plus 2: the last bit of a product has the
// exponent ea + eb, the last bit of the addend ec + 134, where subnormals have the exponent field 1.
module bf16_fma (
    input  logic        clk,
    input  logic        reset,
    input  logic        valid_in,
    output logic        ready_in,
    input  logic [15:0] a,
    input  logic [15:0] b,
    input  logic [15:0] c,
    output logic        valid_out,
    input  logic        ready_out,
    output logic [15:0] result,
    output logic [4:0]  flags  // invalid, division by zero, overflow, underflow, inexact
);
  localparam logic [15:0] NAN = 16'h7FC0;
  localparam logic [14:0] INFINITY = 15'h7F80;

  function automatic logic [8:0] exponent(input logic [15:0] x);
    return x[14:7] == 0 ? 9'd1 : 9'(x[14:7]);
  endfunction

  function automatic logic [7:0] significand(input logic [15:0] x);
    return {x[14:7] != 0, x[6:0]};
  endfunction

  function automatic logic is_nan(input logic [15:0] x);
    return x[14:0] > INFINITY;
  endfunction

  function automatic logic is_signalling(input logic [15:0] x);
    return is_nan(x) && !x[6];
  endfunction

  wire move = ready_out || !valid_out;
  assign ready_in = move;

  // --- 1: unpack, multiply -------------------------------------------------------------------------------------------

  wire a_infinite = a[14:0] == INFINITY;
  wire b_infinite = b[14:0] == INFINITY;
  wire c_infinite = c[14:0] == INFINITY;
  wire product_infinite = a_infinite || b_infinite;
  wire product_sign = a[15] ^ b[15];
  // Infinity times zero, and infinity minus infinity.
  wire no_product = (a_infinite && b[14:0] == 0) || (b_infinite && a[14:0] == 0);
  wire no_sum = product_infinite && c_infinite && product_sign != c[15] && !is_nan(a) && !is_nan(b);
  wire any_nan = is_nan(a) || is_nan(b) || is_nan(c);
  wire signalling = is_signalling(a) || is_signalling(b) || is_signalling(c);
  wire [15:0] product = significand(a) * significand(b);

  logic valid1, sign_p1, sign_c1, special1;
  logic [15:0] product1, value1;
  logic [4:0] flags1;
  logic [7:0] addend1;
  logic [9:0] exponent_p1, exponent_c1;

  // --- 2: align to the larger one, add -------------------------------------------------------------------------------

  // Both end below 2**top. 40 bits below that are kept, and one bit more tells whether anything is lost. Where it is
  // lost, the other one is so much larger that only rounding asks for it.
  wire [9:0] top_p = exponent_p1 + 10'd16;
  wire [9:0] top_c = exponent_c1 + 10'd8;
  wire [9:0] top = top_p > top_c ? top_p : top_c;

  function automatic logic [40:0] aligned(input logic [55:0] x, input logic [9:0] shift);
    logic [55:0] moved;
    moved = x >> shift;
    return shift > 40 ? 41'(x != 0) : {moved[55:16], moved[15:0] != 0};
  endfunction

  wire [40:0] p = aligned({product1, 40'd0}, top - top_p);
  wire [40:0] q = aligned({addend1, 48'd0}, top - top_c);
  wire subtract = sign_p1 != sign_c1;
  wire signed [42:0] sum = subtract ? $signed({2'b0, p}) - $signed({2'b0, q}) : $signed({2'b0, p}) + $signed({2'b0, q});

  logic valid2, sign2, special2;
  logic [41:0] sum2;
  logic [9:0] top2;
  logic [15:0] value2;
  logic [4:0] flags2;

  // --- 3: normalize, round -------------------------------------------------------------------------------------------

  function automatic logic [5:0] leading(input logic [41:0] x);
    leading = 0;
    for (int k = 0; k < 42; k++) if (x[k]) leading = 6'(k);
  endfunction

  wire [5:0] lead = leading(sum2);
  // The exponent of the leading bit, and of the last bit of a subnormal result, relative to the last bit of the sum.
  wire signed [11:0] exponent3 = $signed({2'b0, top2}) - 12'sd41 + $signed({6'b0, lead});
  wire signed [11:0] lowest = 12'sd176 - $signed({2'b0, top2});
  wire signed [11:0] normal = $signed({6'b0, lead}) - 12'sd7;
  wire subnormal = normal < lowest;
  wire signed [11:0] wanted = subnormal ? lowest : normal;
  wire [5:0] cut = wanted > 43 ? 6'd43 : wanted < 0 ? 6'd0 : wanted[5:0];

  function automatic logic rounds_up(input logic [41:0] x, input logic [5:0] cut);
    logic [43:0] half, lost;
    half = 44'd1 << cut >> 1;
    lost = 44'(x) & ((44'd1 << cut) - 44'd1);
    return lost > half || (lost == half && cut != 0 && x[cut]);
  endfunction

  wire [43:0] kept = wanted < 0 ? 44'(sum2) << -wanted : 44'(sum2) >> cut;
  wire up = rounds_up(sum2, cut);
  wire inexact = wanted > 0 && (44'(sum2) & ((44'd1 << cut) - 44'd1)) != 0;
  wire [10:0] field = subnormal ? 11'd0 : 11'(exponent3 - 12'sd141);
  // A carry out of the fraction moves into the exponent by itself.
  wire [17:0] packed3 = {field, kept[6:0]} + 18'(up);
  wire overflow = packed3 >= 18'(INFINITY);
  // Tiny: below 2**-126 after rounding to 8 bits with an unbounded exponent.
  wire [5:0] cut8 = normal < 0 ? 6'd0 : normal[5:0];
  wire all_ones = 8'(44'(sum2) >> cut8) == 8'hFF && normal >= 0;
  wire tiny = exponent3 < 142 && !(exponent3 == 141 && all_ones && rounds_up(sum2, cut8));
  wire [14:0] magnitude = sum2 == 0 ? 15'd0 : overflow ? INFINITY : packed3[14:0];
  wire [4:0] raised = sum2 == 0 ? 5'd0 : {2'b00, overflow, tiny && inexact && !overflow, inexact || overflow};

  always_ff @(posedge clk) begin
    if (reset) begin
      valid1 <= 0;
      valid2 <= 0;
      valid_out <= 0;
    end else if (move) begin
      valid1 <= valid_in;
      sign_p1 <= product_sign;
      sign_c1 <= c[15];
      special1 <= any_nan || product_infinite || c_infinite;
      value1 <= any_nan || no_product || no_sum ? NAN : {product_infinite ? product_sign : c[15], INFINITY};
      flags1 <= {signalling || no_product || (no_sum && !any_nan), 4'd0};
      product1 <= product;
      addend1 <= significand(c);
      // The exponent of a zero must not push the other one out.
      exponent_p1 <= product == 0 ? 10'd0 : 10'(exponent(a)) + 10'(exponent(b));
      exponent_c1 <= significand(c) == 0 ? 10'd0 : 10'(exponent(c)) + 10'd134;

      valid2 <= valid1;
      // An exact zero of different signs is positive.
      sign2 <= sum == 0 ? sign_p1 && sign_c1 : subtract && sum < 0 ? sign_c1 : sign_p1;
      sum2 <= 42'(sum < 0 ? -sum : sum);
      top2 <= top;
      special2 <= special1;
      value2 <= value1;
      flags2 <= flags1;

      valid_out <= valid2;
      result <= special2 ? value2 : {sign2, magnitude};
      flags <= special2 ? flags2 : raised;
    end
  end
endmodule
