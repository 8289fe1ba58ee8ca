func.func @f(%a: index, %b: index) {
  %0 = index.add %a, %b
  %1 = index.sub %a, %b
  %2 = index.mul %a, %b
  %3 = index.divs %a, %b
  %4 = index.divu %a, %b
  %5 = index.ceildivs %a, %b
  %6 = index.ceildivu %a, %b
  %7 = index.floordivs %a, %b
  %8 = index.rems %a, %b
  %9 = index.remu %a, %b
  %10 = index.maxs %a, %b
  %11 = index.maxu %a, %b
  %12 = index.mins %a, %b
  %13 = index.minu %a, %b
  %14 = index.shl %a, %b
  %15 = index.shrs %a, %b
  %16 = index.shru %a, %b
  %17 = index.and %a, %b
  %18 = index.or %a, %b
  %19 = index.xor %a, %b
  return
}
// -----
"func.func"() <{function_type = (index, index) -> (), sym_name = "g"}> ({
^bb0(%a: index, %b: index):
  %0 = "index.add"(%a, %b) {tag = 0} : (index, index) -> index
  %1 = "index.sub"(%a, %b) {tag = 1} : (index, index) -> index
  %2 = "index.mul"(%a, %b) {tag = 2} : (index, index) -> index
  %3 = "index.divs"(%a, %b) {tag = 3} : (index, index) -> index
  %4 = "index.divu"(%a, %b) {tag = 4} : (index, index) -> index
  %5 = "index.ceildivs"(%a, %b) {tag = 5} : (index, index) -> index
  %6 = "index.ceildivu"(%a, %b) {tag = 6} : (index, index) -> index
  %7 = "index.floordivs"(%a, %b) {tag = 7} : (index, index) -> index
  %8 = "index.rems"(%a, %b) {tag = 8} : (index, index) -> index
  %9 = "index.remu"(%a, %b) {tag = 9} : (index, index) -> index
  %10 = "index.maxs"(%a, %b) {tag = 10} : (index, index) -> index
  %11 = "index.maxu"(%a, %b) {tag = 11} : (index, index) -> index
  %12 = "index.mins"(%a, %b) {tag = 12} : (index, index) -> index
  %13 = "index.minu"(%a, %b) {tag = 13} : (index, index) -> index
  %14 = "index.shl"(%a, %b) {tag = 14} : (index, index) -> index
  %15 = "index.shrs"(%a, %b) {tag = 15} : (index, index) -> index
  %16 = "index.shru"(%a, %b) {tag = 16} : (index, index) -> index
  %17 = "index.and"(%a, %b) {tag = 17} : (index, index) -> index
  %18 = "index.or"(%a, %b) {tag = 18} : (index, index) -> index
  %19 = "index.xor"(%a, %b) {tag = 19} : (index, index) -> index
  "func.return"() : () -> ()
}) : () -> ()
