"keep.strings"() {value = dense<"example"> : tensor<2x!foo.string>} : () -> ()
// -----
"keep.strings"() {value = dense<["example1", "example2"]> : tensor<2x!foo.string>} : () -> ()
// -----
// Nested, with escapes.
"keep.strings"() {value = dense<[["a", "\22"], ["\\", "\0A"]]> : tensor<2x2x!foo.string>} : () -> ()
// -----
// Equal strings, and a tensor of one.
"keep.strings"() {a = dense<["x", "x"]> : tensor<2x!foo.string>, b = dense<["x"]> : tensor<1x!foo.string>} : () -> ()
// -----
// The empty string, and text beyond ASCII.
"keep.strings"() {value = dense<["", "é"]> : tensor<2x!foo.string>} : () -> ()
