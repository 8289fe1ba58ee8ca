// Sections of object files that linkers may merge.
llvm.comdat @c {
  llvm.comdat_selector @any any
}
llvm.mlir.global internal constant @g(1 : i64) comdat(@c::@none) : i64
// -----
llvm.func @f() comdat(@ss) { llvm.return }
// -----
llvm.comdat @c {
  llvm.func @f()
}
// -----
llvm.comdat @c {
  llvm.comdat_selector @any other
}
// -----
llvm.comdat @c {
  llvm.comdat_selector @any any
  llvm.comdat_selector @any any
}
// -----
"llvm.comdat"() <{sym_name = "e"}> ({
^bb0(%a: i32):
}) : () -> ()
// -----
"llvm.comdat"() <{sym_name = "e"}> ({
^bb0:
 "llvm.comdat_selector"() <{comdat = 0 : i64, sym_name = "any"}> : () -> ()
^bb1:
}) : () -> ()
// -----
llvm.mlir.global internal constant @g(1 : i64) comdat(@h) : i64
llvm.func @h()
