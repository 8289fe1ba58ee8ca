// Compares a device with vectors that halfulp wrote with --format readmemh. To test another device, replace f8_add by it,
// and set A to OPEN to the fields of its words. The comments in the file of vectors name the bits of each field.
//
//   +vectors=FILE  the vectors
//   +print         print operands, results and flags in TestFloat's form, and compare nothing: halfulp vectors check
//                  can do that
module bench;
  parameter int ROWS = 65536;  // vectors in the file
  parameter int WORD = 32;     // bits of a word
  parameter int TYPE = 8;      // bits of operands and results

  // The lowest bit of each field; -1: the file has none.
  parameter int A = 24;
  parameter int B = 16;
  parameter int RESULT = 8;
  parameter int FLAGS = 0;
  parameter int POISON = -1;  // if this bit is set, the result has no value, and every result is right
  parameter int OPEN = -1;    // for each set bit, 0 and 1 are both right for this bit of the result

  parameter int SHOWN = 5;  // mismatches to print

  localparam int STDERR = 32'h8000_0002;

  // One bit more than a word: it is set at first, and only a word of the file clears it.
  logic [WORD:0] vectors[0:ROWS-1];
  logic [WORD-1:0] word;
  logic [TYPE-1:0] a, b, expected, actual, open;
  logic [4:0] expected_flags, actual_flags;
  logic poison;
  logic print;
  int mismatches = 0;
  string file;

  f8_add device (.a(a), .b(b), .result(actual), .flags(actual_flags));

  initial begin
    if (!$value$plusargs("vectors=%s", file)) $fatal(0, "say which vectors: +vectors=FILE");
    print = $test$plusargs("print") != 0;
    for (int row = 0; row < ROWS; row++) vectors[row] = '1;
    $readmemh(file, vectors);
    for (int row = 0; row < ROWS; row++) begin
      if (vectors[row][WORD] !== 1'b0) $fatal(0, "%s: no vector in row %0d of %0d", file, row, ROWS);
      word = vectors[row][WORD-1:0];
      a = word[A+:TYPE];
      b = word[B+:TYPE];
      expected = word[RESULT+:TYPE];
      open = OPEN < 0 ? '0 : TYPE'(word >> OPEN);
      poison = POISON < 0 ? 1'b0 : 1'(word >> POISON);
      #1;
      expected_flags = FLAGS < 0 ? actual_flags : 5'(word >> FLAGS);
      if (print) $display("%h %h %h %h", a, b, actual, actual_flags);
      // All bits of an X digit in the file are open, so the mask clears them. An X from the device is a mismatch.
      else if (!poison && (((expected ^ actual) & ~open) !== '0 || expected_flags !== actual_flags)) begin
        if (mismatches < SHOWN)
          $fdisplay(STDERR, "row %0d: %h, %h gives %h, flags %b; expected %h, flags %b",
                    row, a, b, actual, actual_flags, expected, expected_flags);
        mismatches++;
      end
    end
    if (!print) $fdisplay(STDERR, "%0d of %0d vectors differ", mismatches, ROWS);
    if (mismatches != 0) $fatal(0, "the device is wrong");
    $finish(0);
  end
endmodule
