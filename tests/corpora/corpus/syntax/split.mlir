// What stands between lines of dashes is a file of its own: names may repeat.
func.func private @same()
// -----
func.func private @same()
// -----
#alias = 1 : i32
"keep.op"() {a = #alias} : () -> ()
// -----
#alias = 2 : i32
"keep.op"() {a = #alias} : () -> ()
// -----
// Dashes inside a string do not split.
"keep.op"() {a = "// ----- here"} : () -> ()
// -----
// Dashes after code do not split a line.
"keep.op"() : () -> () // ---- four
