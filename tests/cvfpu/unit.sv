// The FPU cvfpu without registers, in all its formats, with the ports as plain numbers for main.cpp. Its divider is left out.
module unit
  import fpnew_pkg::*;
(
    input  logic [63:0] a,
    input  logic [63:0] b,
    input  logic [63:0] c,
    input  logic [3:0]  operation,
    input  logic        modifier,
    input  logic [2:0]  source,
    input  logic [2:0]  target,
    input  logic [1:0]  width,
    input  logic [2:0]  rounding,
    output logic [63:0] result,
    output logic [4:0]  flags  // invalid, division by zero, overflow, underflow, inexact
);
  localparam fpu_features_t FEATURES = '{
      Width: 64, EnableVectors: 1'b0, EnableNanBox: 1'b0, FpFmtMask: '1, IntFmtMask: '1
  };
  localparam fpu_implementation_t COMBINATIONAL = '{
      PipeRegs: '{default: 0},
      UnitTypes: '{'{default: MERGED}, '{default: DISABLED}, '{default: PARALLEL}, '{default: MERGED}},
      PipeConfig: BEFORE
  };

  fpnew_top #(
      .Features(FEATURES),
      .Implementation(COMBINATIONAL)
  ) fpu (
      .clk_i(1'b0),
      .rst_ni(1'b1),
      .operands_i({c, b, a}),
      .rnd_mode_i(roundmode_e'(rounding)),
      .op_i(operation_e'(operation)),
      .op_mod_i(modifier),
      .src_fmt_i(fp_format_e'(source)),
      .dst_fmt_i(fp_format_e'(target)),
      .int_fmt_i(int_format_e'(width)),
      .vectorial_op_i(1'b0),
      .tag_i(1'b0),
      .simd_mask_i('1),
      .in_valid_i(1'b1),
      .in_ready_o(),
      .flush_i(1'b0),
      .result_o(result),
      .status_o(flags),
      .tag_o(),
      .out_valid_o(),
      .out_ready_i(1'b1),
      .busy_o()
  );
endmodule
