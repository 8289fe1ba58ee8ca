// Containers.
func.func @absi(%a: i0, %b: vector<4xi1>, %c: tensor<2x?xi7>, %d: tensor<*xi8>, %e: vector<[4]xi0>) {
  %0 = math.absi %a : i0
  %1 = math.absi %b : vector<4xi1>
  %2 = math.absi %c {keep.n = 3 : i8} : tensor<2x?xi7>
  %3 = math.absi %d : tensor<*xi8>
  %4 = math.absi %e : vector<[4]xi0>
  return
}
// -----
// Generic form.
func.func @absi(%a: i32, %b: index) {
  %0 = "math.absi"(%a) : (i32) -> i32
  %1 = "math.absi"(%b) {keep.u} : (index) -> index
  return
}
// -----
// Containers.
func.func @ctlz(%a: i16, %b: vector<4xi32>, %c: tensor<2x?xi33>, %d: tensor<*xi64>, %e: vector<[4]xi16>) {
  %0 = math.ctlz %a : i16
  %1 = math.ctlz %b : vector<4xi32>
  %2 = math.ctlz %c {keep.n = 3 : i8} : tensor<2x?xi33>
  %3 = math.ctlz %d : tensor<*xi64>
  %4 = math.ctlz %e : vector<[4]xi16>
  return
}
// -----
// Generic form.
func.func @ctlz(%a: i32, %b: index) {
  %0 = "math.ctlz"(%a) : (i32) -> i32
  %1 = "math.ctlz"(%b) {keep.u} : (index) -> index
  return
}
// -----
// Containers.
func.func @cttz(%a: i128, %b: vector<4xi1024>, %c: tensor<2x?xindex>, %d: tensor<*xi0>, %e: vector<[4]xi128>) {
  %0 = math.cttz %a : i128
  %1 = math.cttz %b : vector<4xi1024>
  %2 = math.cttz %c {keep.n = 3 : i8} : tensor<2x?xindex>
  %3 = math.cttz %d : tensor<*xi0>
  %4 = math.cttz %e : vector<[4]xi128>
  return
}
// -----
// Generic form.
func.func @cttz(%a: i32, %b: index) {
  %0 = "math.cttz"(%a) : (i32) -> i32
  %1 = "math.cttz"(%b) {keep.u} : (index) -> index
  return
}
// -----
// Containers.
func.func @ctpop(%a: i1, %b: vector<4xi7>, %c: tensor<2x?xi8>, %d: tensor<*xi16>, %e: vector<[4]xi1>) {
  %0 = math.ctpop %a : i1
  %1 = math.ctpop %b : vector<4xi7>
  %2 = math.ctpop %c {keep.n = 3 : i8} : tensor<2x?xi8>
  %3 = math.ctpop %d : tensor<*xi16>
  %4 = math.ctpop %e : vector<[4]xi1>
  return
}
// -----
// Generic form.
func.func @ctpop(%a: i32, %b: index) {
  %0 = "math.ctpop"(%a) : (i32) -> i32
  %1 = "math.ctpop"(%b) {keep.u} : (index) -> index
  return
}
// -----
// Containers.
func.func @ipowi(%a: i32, %b: vector<4xi33>, %c: tensor<2x?xi64>, %d: tensor<*xi128>, %e: vector<[4]xi32>) {
  %0 = math.ipowi %a, %a : i32
  %1 = math.ipowi %b, %b : vector<4xi33>
  %2 = math.ipowi %c, %c {keep.n = 3 : i8} : tensor<2x?xi64>
  %3 = math.ipowi %d, %d : tensor<*xi128>
  %4 = math.ipowi %e, %e : vector<[4]xi32>
  return
}
// -----
// Generic form.
func.func @ipowi(%a: i32, %b: index) {
  %0 = "math.ipowi"(%a, %a) : (i32, i32) -> i32
  %1 = "math.ipowi"(%b, %b) {keep.u} : (index, index) -> index
  return
}
