func.func @newer(%a: index, %b: index, %c: index) {
  scf.parallel unsigned (%i) = (%a) to (%b) step (%c) {
    scf.reduce
  }
  return
}
// -----
module <dlti = #dlti.map<"chip" = "sm_90">> {
}
