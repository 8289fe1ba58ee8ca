"keep.symbol"() {value = @flat_reference} : () -> ()
// -----
"keep.symbol"() {value = @parent_reference::@nested_reference} : () -> ()
// -----
// Names in quotes where they need them.
"keep.symbol"() {a = @"plain", b = @"with space", c = @"0", d = @"\22", e = @"é"::@x} : () -> ()
// -----
// Four levels.
"keep.symbol"() {value = @a::@b::@c::@d} : () -> ()
// -----
// Names with dots and dollars.
"keep.symbol"() {value = @a.b$c_d} : () -> ()
// -----
// A use of a symbol that exists.
func.func private @target()
"keep.symbol"() {value = @target} : () -> ()
// -----
// Empty names: of a symbol, in a reference, in a nested one.
module @"" {
  func.func private @""()
  func.func @f() {
    call @""() : () -> ()
    return
  }
  "keep.symbol"() {a = @"", b = @a::@""} : () -> ()
}
// -----
// Names of sections that linkers may merge.
llvm.comdat @__llvm_comdat {
  llvm.comdat_selector @any any
  llvm.comdat_selector @ss samesize {keep.a}
}
llvm.mlir.global internal constant @has_any_comdat(1 : i64) comdat(@__llvm_comdat::@any) : i64
llvm.func @f() comdat(@__llvm_comdat::@ss) { llvm.return }
// -----
llvm.comdat_selector @any any
llvm.mlir.global internal constant @g(1 : i64) comdat(@any) : i64
