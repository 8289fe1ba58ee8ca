// A dot product of the microscaling formats: LANES products in each clock, added to a running sum in f32.
//
// Elements have 1 sign bit, EXPONENT exponent bits of bias BIAS and FRACTION fraction bits: by default f8E4M3FN, where all
// ones are NaN; with EXPONENT=2, FRACTION=1, BIAS=1 and HAS_NAN=0 f4E2M1FN. The elements of an operand share a scale in
// f8E8M0FNU: 2**(code - 127), and FF is NaN. A block is as many steps as it needs: "first" takes c as the sum so far, and
// "last" announces the result.
//
// One step: the products are exact. They and the sum so far are aligned to the largest exponent among those that are not
// zero. BITS bits below it are kept, and the last one is also set where bits below are lost (round to odd). The integers are
// added, and the sum is rounded once, to f32 and nearest even. As an accumulator of halfulp, for LANES=8 and BITS=26:
// custom:group=8,bits=26,cut=to_odd
module mx_dot #(
    parameter int EXPONENT = 4,
    parameter int FRACTION = 3,
    parameter int BIAS = 7,
    parameter bit HAS_NAN = 1,
    parameter int LANES = 8,
    parameter int BITS = 26,  // at least 23
    parameter int WIDTH = 1 + EXPONENT + FRACTION  // of an element
) (
    input  logic                     clk,
    input  logic                     reset,
    input  logic                     valid_in,
    input  logic                     first,
    input  logic                     last,
    input  logic [LANES*WIDTH-1:0]   a,  // element 0 in the lowest bits
    input  logic [LANES*WIDTH-1:0]   b,
    input  logic [7:0]               scale_a,
    input  logic [7:0]               scale_b,
    input  logic [31:0]              c,
    output logic                     valid_out,
    output logic [31:0]              result
);
  localparam int TERMS = LANES + 1;
  localparam int TERM = BITS + 2;  // a product of two significands is below 4
  localparam int SUM = TERM + 1 + $clog2(TERMS);
  localparam int EXP = 12;  // exponents, signed
  localparam int SCALE_BIAS = 127;
  localparam logic signed [EXP-1:0] NONE = -2000;  // the exponent of a zero, below all others
  localparam logic [31:0] NAN = 32'h7FC0_0000;
  localparam logic [30:0] INFINITY = 31'h7F80_0000;

  // --- the terms: products, and the sum so far as the last one -------------------------------------------------------

  function automatic logic signed [EXP-1:0] exponent(input logic [WIDTH-1:0] x);
    return (x[FRACTION+:EXPONENT] == 0 ? EXP'(1) : EXP'(x[FRACTION+:EXPONENT])) - EXP'(BIAS);
  endfunction

  function automatic logic [FRACTION:0] significand(input logic [WIDTH-1:0] x);
    return {x[FRACTION+:EXPONENT] != 0, x[FRACTION-1:0]};
  endfunction

  wire [LANES-1:0] nans;
  wire [TERMS-1:0] negative;
  wire [TERMS*TERM-1:0] terms;
  wire [TERMS*EXP-1:0] exponents;
  wire signed [EXP-1:0] scale = EXP'(scale_a) + EXP'(scale_b) - EXP'(2 * SCALE_BIAS);

  for (genvar k = 0; k < LANES; k++) begin : lane
    wire [WIDTH-1:0] x = a[k*WIDTH+:WIDTH];
    wire [WIDTH-1:0] y = b[k*WIDTH+:WIDTH];
    wire [2*FRACTION+1:0] product = significand(x) * significand(y);
    assign nans[k] = HAS_NAN && (&x[WIDTH-2:0] || &y[WIDTH-2:0]);
    assign negative[k] = x[WIDTH-1] ^ y[WIDTH-1];
    assign terms[k*TERM+:TERM] = TERM'(product) << (BITS - 2 * FRACTION);
    assign exponents[k*EXP+:EXP] = product == 0 ? NONE : exponent(x) + exponent(y) + scale;
  end

  logic [31:0] sum;
  wire [31:0] addend = first ? c : sum;
  wire [23:0] addend_significand = {addend[30:23] != 0, addend[22:0]};
  assign negative[LANES] = addend[31];
  assign terms[LANES*TERM+:TERM] = TERM'(addend_significand) << (BITS - 23);
  wire [7:0] addend_field = addend[30:23] == 0 ? 8'd1 : addend[30:23];
  assign exponents[LANES*EXP+:EXP] = addend_significand == 0 ? NONE : EXP'(addend_field) - 12'sd127;

  // --- align, add ----------------------------------------------------------------------------------------------------

  function automatic logic signed [EXP-1:0] largest(input logic [TERMS*EXP-1:0] all);
    largest = NONE;
    for (int k = 0; k < TERMS; k++)
      if ($signed(all[k*EXP+:EXP]) > largest) largest = $signed(all[k*EXP+:EXP]);
  endfunction

  wire signed [EXP-1:0] top = largest(exponents);
  wire [TERMS*TERM-1:0] aligned;

  for (genvar k = 0; k < TERMS; k++) begin : shifter
    wire [TERM-1:0] term = terms[k*TERM+:TERM];
    wire [EXP-1:0] shift = term == 0 ? 12'd0 : top - exponents[k*EXP+:EXP];
    wire far = shift >= EXP'(TERM);
    wire [TERM-1:0] kept = far ? '0 : term >> shift;
    wire lost = far || (kept << shift) != term;
    assign aligned[k*TERM+:TERM] = {kept[TERM-1:1], kept[0] | lost};
  end

  function automatic logic signed [SUM-1:0] added(input logic [TERMS*TERM-1:0] all, input logic [TERMS-1:0] minus);
    added = 0;
    for (int k = 0; k < TERMS; k++)
      added = minus[k] ? added - SUM'(all[k*TERM+:TERM]) : added + SUM'(all[k*TERM+:TERM]);
  endfunction

  wire signed [SUM-1:0] total = added(aligned, negative);

  // --- round to f32 --------------------------------------------------------------------------------------------------

  function automatic logic [EXP-1:0] leading(input logic [SUM-1:0] x);
    leading = 0;
    for (int k = 0; k < SUM; k++) if (x[k]) leading = EXP'(k);
  endfunction

  wire [SUM-1:0] magnitude = total < 0 ? -total : total;
  wire signed [EXP-1:0] lowest = top - EXP'(BITS);  // the exponent of the last bit
  wire signed [EXP-1:0] lead = $signed(leading(magnitude));
  wire signed [EXP-1:0] normal = lead - 12'sd23;
  wire subnormal = normal + lowest < -12'sd149;
  wire signed [EXP-1:0] wanted = subnormal ? -12'sd149 - lowest : normal;
  wire [EXP-1:0] cut = wanted < 0 ? 12'd0 : wanted > EXP'(SUM) ? EXP'(SUM) : wanted;
  wire [EXP-1:0] raise = wanted < 0 ? -wanted : 12'd0;
  wire [SUM-1:0] whole = magnitude >> cut;
  wire [SUM:0] rest = {1'b0, magnitude} - ({1'b0, whole} << cut);
  wire [SUM:0] half = (SUM + 1)'(1) << cut >> 1;
  wire up = rest > half || (rest == half && cut != 0 && whole[0]);
  wire [22:0] fraction = 23'(whole << raise);
  wire [9:0] field = subnormal ? 10'd0 : 10'(lead + lowest + 12'sd127);
  // A carry out of the fraction moves into the exponent by itself.
  wire [32:0] rounded = {field, fraction} + 33'(up);
  wire [30:0] size = total == 0 ? 31'd0 : rounded >= 33'(INFINITY) ? INFINITY : rounded[30:0];
  // A sum of zeros is negative if all of them are. Other sums that are zero are positive.
  wire sign = top == NONE ? &negative : total < 0;

  wire nan = |nans || &scale_a || &scale_b || addend[30:0] > INFINITY;
  wire infinite = addend[30:0] == INFINITY;
  wire [31:0] next = nan ? NAN : infinite ? addend : {sign, size};

  always_ff @(posedge clk) begin
    valid_out <= valid_in && last && !reset;
    if (valid_in) begin
      sum <= next;
      result <= next;
    end
  end
endmodule
