// The adder of examples/rtl behind two registers, for tests of the scoreboard: results come two edges after their operands.
`include "f8_add.sv"

module delayed (
    input  logic       clk,
    input  logic       reset,
    input  logic       valid_in,
    input  logic       spoil,  // the next result has an X
    input  logic       hide,   // valid_out is X
    input  logic [7:0] a,
    input  logic [7:0] b,
    output logic       valid_out,
    output logic [7:0] result,
    output logic [4:0] flags
);
  logic [7:0] sum, sum1;
  logic [4:0] flags0, flags1;
  logic valid1, valid2;

  f8_add adder (.a(a), .b(b), .result(sum), .flags(flags0));

  assign valid_out = hide ? 1'bx : valid2;

  always_ff @(posedge clk) begin
    sum1 <= spoil ? {sum[7:1], 1'bx} : sum;
    flags1 <= flags0;
    valid1 <= valid_in && !reset;
    result <= valid1 ? sum1 : 8'hxx;
    flags <= valid1 ? flags1 : 5'hxx;
    valid2 <= valid1 && !reset;
  end
endmodule
