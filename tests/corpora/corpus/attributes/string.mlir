"keep.string"() {value = "An important string"} : () -> ()
// -----
"keep.string"() {value = "string with a type" : !dialect.string} : () -> ()
// -----
"keep.string"() {value = ""} : () -> ()
// -----
// Escapes: quote, backslash, newline, tab, two hexadecimal digits.
"keep.string"() {value = "q\" b\\ n\n t\t h\41\7F"} : () -> ()
// -----
// Bytes that are no text.
"keep.string"() {value = "\00\01\80\FF"} : () -> ()
// -----
// Text beyond ASCII.
"keep.string"() {value = "grüße, 世界"} : () -> ()
// -----
// What looks like code stays text.
"keep.string"() {value = "// no comment %0 = \22x\22() : () -> ()"} : () -> ()
// -----
// A typed string of a builtin type.
"keep.string"() {a = "x" : i32, b = "y" : tensor<2xf32>, c = "z" : none} : () -> ()
// -----
// A very long one.
"keep.string"() {value = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"} : () -> ()
