// Scalars of two types.
func.func @addi(%a: i1, %b: i32) -> (i1, i32) {
  %0 = arith.addi %a, %a : i1
  %1 = arith.addi %b, %b : i32
  return %0, %1 : i1, i32
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @addi(%a: vector<2xi24>, %b: tensor<3x1xi128>, %c: tensor<*xi8>, %d: vector<[2]xi32>) -> (vector<2xi24>, tensor<3x1xi128>, tensor<*xi8>, vector<[2]xi32>) {
  %0 = arith.addi %a, %a : vector<2xi24>
  %1 = arith.addi %b, %b : tensor<3x1xi128>
  %2 = arith.addi %c, %c : tensor<*xi8>
  %3 = arith.addi %d, %d : vector<[2]xi32>
  return %0, %1, %2, %3 : vector<2xi24>, tensor<3x1xi128>, tensor<*xi8>, vector<[2]xi32>
}
// -----
// Every set of flags.
func.func @addi(%a: i32) -> i32 {
  %0 = arith.addi %a, %a overflow<none> : i32
  %1 = arith.addi %a, %a overflow<nsw> : i32
  %2 = arith.addi %a, %a overflow<nuw> {keep.a} : i32
  %3 = arith.addi %a, %a overflow<nsw, nuw> : i32
  %4 = arith.addi %a, %a overflow<nuw, nsw> : i32
  return %4 : i32
}
// -----
// Generic form, flags as a property, as an attribute, and absent.
func.func @addi(%a: i1) -> i1 {
  %0 = "arith.addi"(%a, %a) <{overflowFlags = #arith.overflow<nsw, nuw>}> : (i1, i1) -> i1
  %1 = "arith.addi"(%a, %a) {overflowFlags = #arith.overflow<nuw>} : (i1, i1) -> i1
  %2 = "arith.addi"(%a, %a) : (i1, i1) -> i1
  return %2 : i1
}
// -----
// Scalars of two types.
func.func @subi(%a: i4, %b: i1024) -> (i4, i1024) {
  %0 = arith.subi %a, %a : i4
  %1 = arith.subi %b, %b : i1024
  return %0, %1 : i4, i1024
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @subi(%a: vector<3xi32>, %b: tensor<?x2xi1024>, %c: tensor<*xi16>, %d: vector<[4]xi64>) -> (vector<3xi32>, tensor<?x2xi1024>, tensor<*xi16>, vector<[4]xi64>) {
  %0 = arith.subi %a, %a : vector<3xi32>
  %1 = arith.subi %b, %b : tensor<?x2xi1024>
  %2 = arith.subi %c, %c : tensor<*xi16>
  %3 = arith.subi %d, %d : vector<[4]xi64>
  return %0, %1, %2, %3 : vector<3xi32>, tensor<?x2xi1024>, tensor<*xi16>, vector<[4]xi64>
}
// -----
// Every set of flags.
func.func @subi(%a: i1024) -> i1024 {
  %0 = arith.subi %a, %a overflow<none> : i1024
  %1 = arith.subi %a, %a overflow<nsw> : i1024
  %2 = arith.subi %a, %a overflow<nuw> {keep.a} : i1024
  %3 = arith.subi %a, %a overflow<nsw, nuw> : i1024
  %4 = arith.subi %a, %a overflow<nuw, nsw> : i1024
  return %4 : i1024
}
// -----
// Generic form, flags as a property, as an attribute, and absent.
func.func @subi(%a: i4) -> i4 {
  %0 = "arith.subi"(%a, %a) <{overflowFlags = #arith.overflow<nsw, nuw>}> : (i4, i4) -> i4
  %1 = "arith.subi"(%a, %a) {overflowFlags = #arith.overflow<nuw>} : (i4, i4) -> i4
  %2 = "arith.subi"(%a, %a) : (i4, i4) -> i4
  return %2 : i4
}
// -----
// Scalars of two types.
func.func @muli(%a: i8, %b: i4) -> (i8, i4) {
  %0 = arith.muli %a, %a : i8
  %1 = arith.muli %b, %b : i4
  return %0, %1 : i8, i4
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @muli(%a: vector<4xi64>, %b: tensor<3x3xindex>, %c: tensor<*xi24>, %d: vector<[8]xi128>) -> (vector<4xi64>, tensor<3x3xindex>, tensor<*xi24>, vector<[8]xi128>) {
  %0 = arith.muli %a, %a : vector<4xi64>
  %1 = arith.muli %b, %b : tensor<3x3xindex>
  %2 = arith.muli %c, %c : tensor<*xi24>
  %3 = arith.muli %d, %d : vector<[8]xi128>
  return %0, %1, %2, %3 : vector<4xi64>, tensor<3x3xindex>, tensor<*xi24>, vector<[8]xi128>
}
// -----
// Every set of flags.
func.func @muli(%a: i4) -> i4 {
  %0 = arith.muli %a, %a overflow<none> : i4
  %1 = arith.muli %a, %a overflow<nsw> : i4
  %2 = arith.muli %a, %a overflow<nuw> {keep.a} : i4
  %3 = arith.muli %a, %a overflow<nsw, nuw> : i4
  %4 = arith.muli %a, %a overflow<nuw, nsw> : i4
  return %4 : i4
}
// -----
// Generic form, flags as a property, as an attribute, and absent.
func.func @muli(%a: i8) -> i8 {
  %0 = "arith.muli"(%a, %a) <{overflowFlags = #arith.overflow<nsw, nuw>}> : (i8, i8) -> i8
  %1 = "arith.muli"(%a, %a) {overflowFlags = #arith.overflow<nuw>} : (i8, i8) -> i8
  %2 = "arith.muli"(%a, %a) : (i8, i8) -> i8
  return %2 : i8
}
// -----
// Scalars of two types.
func.func @shli(%a: i16, %b: i24) -> (i16, i24) {
  %0 = arith.shli %a, %a : i16
  %1 = arith.shli %b, %b : i24
  return %0, %1 : i16, i24
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @shli(%a: vector<5xi128>, %b: tensor<?x4xi1>, %c: tensor<*xi32>, %d: vector<[2]xi1024>) -> (vector<5xi128>, tensor<?x4xi1>, tensor<*xi32>, vector<[2]xi1024>) {
  %0 = arith.shli %a, %a : vector<5xi128>
  %1 = arith.shli %b, %b : tensor<?x4xi1>
  %2 = arith.shli %c, %c : tensor<*xi32>
  %3 = arith.shli %d, %d : vector<[2]xi1024>
  return %0, %1, %2, %3 : vector<5xi128>, tensor<?x4xi1>, tensor<*xi32>, vector<[2]xi1024>
}
// -----
// Every set of flags.
func.func @shli(%a: i24) -> i24 {
  %0 = arith.shli %a, %a overflow<none> : i24
  %1 = arith.shli %a, %a overflow<nsw> : i24
  %2 = arith.shli %a, %a overflow<nuw> {keep.a} : i24
  %3 = arith.shli %a, %a overflow<nsw, nuw> : i24
  %4 = arith.shli %a, %a overflow<nuw, nsw> : i24
  return %4 : i24
}
// -----
// Generic form, flags as a property, as an attribute, and absent.
func.func @shli(%a: i16) -> i16 {
  %0 = "arith.shli"(%a, %a) <{overflowFlags = #arith.overflow<nsw, nuw>}> : (i16, i16) -> i16
  %1 = "arith.shli"(%a, %a) {overflowFlags = #arith.overflow<nuw>} : (i16, i16) -> i16
  %2 = "arith.shli"(%a, %a) : (i16, i16) -> i16
  return %2 : i16
}
// -----
// Scalars of two types.
func.func @divsi(%a: i24, %b: i128) -> (i24, i128) {
  %0 = arith.divsi %a, %a : i24
  %1 = arith.divsi %b, %b : i128
  return %0, %1 : i24, i128
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @divsi(%a: vector<6xi1024>, %b: tensor<3x1xi4>, %c: tensor<*xi64>, %d: vector<[4]xi1>) -> (vector<6xi1024>, tensor<3x1xi4>, tensor<*xi64>, vector<[4]xi1>) {
  %0 = arith.divsi %a, %a : vector<6xi1024>
  %1 = arith.divsi %b, %b : tensor<3x1xi4>
  %2 = arith.divsi %c, %c : tensor<*xi64>
  %3 = arith.divsi %d, %d : vector<[4]xi1>
  return %0, %1, %2, %3 : vector<6xi1024>, tensor<3x1xi4>, tensor<*xi64>, vector<[4]xi1>
}
// -----
// Exact, in custom and generic form.
func.func @divsi(%a: i24, %b: vector<6xi1024>) -> i24 {
  %0 = arith.divsi %a, %a exact : i24
  %1 = arith.divsi %b, %b exact {keep.x} : vector<6xi1024>
  %2 = "arith.divsi"(%a, %a) <{isExact}> : (i24, i24) -> i24
  %3 = "arith.divsi"(%a, %a) : (i24, i24) -> i24
  return %3 : i24
}
// -----
// Scalars of two types.
func.func @divui(%a: i32, %b: i1) -> (i32, i1) {
  %0 = arith.divui %a, %a : i32
  %1 = arith.divui %b, %b : i1
  return %0, %1 : i32, i1
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @divui(%a: vector<2xindex>, %b: tensor<?x2xi8>, %c: tensor<*xi128>, %d: vector<[8]xi4>) -> (vector<2xindex>, tensor<?x2xi8>, tensor<*xi128>, vector<[8]xi4>) {
  %0 = arith.divui %a, %a : vector<2xindex>
  %1 = arith.divui %b, %b : tensor<?x2xi8>
  %2 = arith.divui %c, %c : tensor<*xi128>
  %3 = arith.divui %d, %d : vector<[8]xi4>
  return %0, %1, %2, %3 : vector<2xindex>, tensor<?x2xi8>, tensor<*xi128>, vector<[8]xi4>
}
// -----
// Exact, in custom and generic form.
func.func @divui(%a: i32, %b: vector<2xindex>) -> i32 {
  %0 = arith.divui %a, %a exact : i32
  %1 = arith.divui %b, %b exact {keep.x} : vector<2xindex>
  %2 = "arith.divui"(%a, %a) <{isExact}> : (i32, i32) -> i32
  %3 = "arith.divui"(%a, %a) : (i32, i32) -> i32
  return %3 : i32
}
// -----
// Scalars of two types.
func.func @ceildivsi(%a: i64, %b: i16) -> (i64, i16) {
  %0 = arith.ceildivsi %a, %a : i64
  %1 = arith.ceildivsi %b, %b : i16
  return %0, %1 : i64, i16
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @ceildivsi(%a: vector<3xi1>, %b: tensor<3x3xi16>, %c: tensor<*xi1024>, %d: vector<[2]xi8>) -> (vector<3xi1>, tensor<3x3xi16>, tensor<*xi1024>, vector<[2]xi8>) {
  %0 = arith.ceildivsi %a, %a : vector<3xi1>
  %1 = arith.ceildivsi %b, %b : tensor<3x3xi16>
  %2 = arith.ceildivsi %c, %c : tensor<*xi1024>
  %3 = arith.ceildivsi %d, %d : vector<[2]xi8>
  return %0, %1, %2, %3 : vector<3xi1>, tensor<3x3xi16>, tensor<*xi1024>, vector<[2]xi8>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @ceildivsi(%a: i16) -> i16 {
  %0 = "arith.ceildivsi"(%a, %a) {keep.note = "ceildivsi"} : (i16, i16) -> i16
  %1 = arith.ceildivsi %0, %a {keep.level = 6 : i32} : i16
  return %1 : i16
}
// -----
// Scalars of two types.
func.func @ceildivui(%a: i128, %b: i64) -> (i128, i64) {
  %0 = arith.ceildivui %a, %a : i128
  %1 = arith.ceildivui %b, %b : i64
  return %0, %1 : i128, i64
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @ceildivui(%a: vector<4xi4>, %b: tensor<?x4xi24>, %c: tensor<*xindex>, %d: vector<[4]xi16>) -> (vector<4xi4>, tensor<?x4xi24>, tensor<*xindex>, vector<[4]xi16>) {
  %0 = arith.ceildivui %a, %a : vector<4xi4>
  %1 = arith.ceildivui %b, %b : tensor<?x4xi24>
  %2 = arith.ceildivui %c, %c : tensor<*xindex>
  %3 = arith.ceildivui %d, %d : vector<[4]xi16>
  return %0, %1, %2, %3 : vector<4xi4>, tensor<?x4xi24>, tensor<*xindex>, vector<[4]xi16>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @ceildivui(%a: i64) -> i64 {
  %0 = "arith.ceildivui"(%a, %a) {keep.note = "ceildivui"} : (i64, i64) -> i64
  %1 = arith.ceildivui %0, %a {keep.level = 7 : i32} : i64
  return %1 : i64
}
// -----
// Scalars of two types.
func.func @floordivsi(%a: i1024, %b: index) -> (i1024, index) {
  %0 = arith.floordivsi %a, %a : i1024
  %1 = arith.floordivsi %b, %b : index
  return %0, %1 : i1024, index
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @floordivsi(%a: vector<5xi8>, %b: tensor<3x1xi32>, %c: tensor<*xi1>, %d: vector<[8]xi24>) -> (vector<5xi8>, tensor<3x1xi32>, tensor<*xi1>, vector<[8]xi24>) {
  %0 = arith.floordivsi %a, %a : vector<5xi8>
  %1 = arith.floordivsi %b, %b : tensor<3x1xi32>
  %2 = arith.floordivsi %c, %c : tensor<*xi1>
  %3 = arith.floordivsi %d, %d : vector<[8]xi24>
  return %0, %1, %2, %3 : vector<5xi8>, tensor<3x1xi32>, tensor<*xi1>, vector<[8]xi24>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @floordivsi(%a: index) -> index {
  %0 = "arith.floordivsi"(%a, %a) {keep.note = "floordivsi"} : (index, index) -> index
  %1 = arith.floordivsi %0, %a {keep.level = 8 : i32} : index
  return %1 : index
}
// -----
// Scalars of two types.
func.func @remsi(%a: index, %b: i8) -> (index, i8) {
  %0 = arith.remsi %a, %a : index
  %1 = arith.remsi %b, %b : i8
  return %0, %1 : index, i8
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @remsi(%a: vector<6xi16>, %b: tensor<?x2xi64>, %c: tensor<*xi4>, %d: vector<[2]xi32>) -> (vector<6xi16>, tensor<?x2xi64>, tensor<*xi4>, vector<[2]xi32>) {
  %0 = arith.remsi %a, %a : vector<6xi16>
  %1 = arith.remsi %b, %b : tensor<?x2xi64>
  %2 = arith.remsi %c, %c : tensor<*xi4>
  %3 = arith.remsi %d, %d : vector<[2]xi32>
  return %0, %1, %2, %3 : vector<6xi16>, tensor<?x2xi64>, tensor<*xi4>, vector<[2]xi32>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @remsi(%a: i8) -> i8 {
  %0 = "arith.remsi"(%a, %a) {keep.note = "remsi"} : (i8, i8) -> i8
  %1 = arith.remsi %0, %a {keep.level = 9 : i32} : i8
  return %1 : i8
}
// -----
// Scalars of two types.
func.func @remui(%a: i1, %b: i32) -> (i1, i32) {
  %0 = arith.remui %a, %a : i1
  %1 = arith.remui %b, %b : i32
  return %0, %1 : i1, i32
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @remui(%a: vector<2xi24>, %b: tensor<3x3xi128>, %c: tensor<*xi8>, %d: vector<[4]xi64>) -> (vector<2xi24>, tensor<3x3xi128>, tensor<*xi8>, vector<[4]xi64>) {
  %0 = arith.remui %a, %a : vector<2xi24>
  %1 = arith.remui %b, %b : tensor<3x3xi128>
  %2 = arith.remui %c, %c : tensor<*xi8>
  %3 = arith.remui %d, %d : vector<[4]xi64>
  return %0, %1, %2, %3 : vector<2xi24>, tensor<3x3xi128>, tensor<*xi8>, vector<[4]xi64>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @remui(%a: i32) -> i32 {
  %0 = "arith.remui"(%a, %a) {keep.note = "remui"} : (i32, i32) -> i32
  %1 = arith.remui %0, %a {keep.level = 10 : i32} : i32
  return %1 : i32
}
// -----
// Scalars of two types.
func.func @andi(%a: i4, %b: i1024) -> (i4, i1024) {
  %0 = arith.andi %a, %a : i4
  %1 = arith.andi %b, %b : i1024
  return %0, %1 : i4, i1024
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @andi(%a: vector<3xi32>, %b: tensor<?x4xi1024>, %c: tensor<*xi16>, %d: vector<[8]xi128>) -> (vector<3xi32>, tensor<?x4xi1024>, tensor<*xi16>, vector<[8]xi128>) {
  %0 = arith.andi %a, %a : vector<3xi32>
  %1 = arith.andi %b, %b : tensor<?x4xi1024>
  %2 = arith.andi %c, %c : tensor<*xi16>
  %3 = arith.andi %d, %d : vector<[8]xi128>
  return %0, %1, %2, %3 : vector<3xi32>, tensor<?x4xi1024>, tensor<*xi16>, vector<[8]xi128>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @andi(%a: i1024) -> i1024 {
  %0 = "arith.andi"(%a, %a) {keep.note = "andi"} : (i1024, i1024) -> i1024
  %1 = arith.andi %0, %a {keep.level = 11 : i32} : i1024
  return %1 : i1024
}
// -----
// Scalars of two types.
func.func @ori(%a: i8, %b: i4) -> (i8, i4) {
  %0 = arith.ori %a, %a : i8
  %1 = arith.ori %b, %b : i4
  return %0, %1 : i8, i4
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @ori(%a: vector<4xi64>, %b: tensor<3x1xindex>, %c: tensor<*xi24>, %d: vector<[2]xi1024>) -> (vector<4xi64>, tensor<3x1xindex>, tensor<*xi24>, vector<[2]xi1024>) {
  %0 = arith.ori %a, %a : vector<4xi64>
  %1 = arith.ori %b, %b : tensor<3x1xindex>
  %2 = arith.ori %c, %c : tensor<*xi24>
  %3 = arith.ori %d, %d : vector<[2]xi1024>
  return %0, %1, %2, %3 : vector<4xi64>, tensor<3x1xindex>, tensor<*xi24>, vector<[2]xi1024>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @ori(%a: i4) -> i4 {
  %0 = "arith.ori"(%a, %a) {keep.note = "ori"} : (i4, i4) -> i4
  %1 = arith.ori %0, %a {keep.level = 12 : i32} : i4
  return %1 : i4
}
// -----
// Scalars of two types.
func.func @xori(%a: i16, %b: i24) -> (i16, i24) {
  %0 = arith.xori %a, %a : i16
  %1 = arith.xori %b, %b : i24
  return %0, %1 : i16, i24
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @xori(%a: vector<5xi128>, %b: tensor<?x2xi1>, %c: tensor<*xi32>, %d: vector<[4]xi1>) -> (vector<5xi128>, tensor<?x2xi1>, tensor<*xi32>, vector<[4]xi1>) {
  %0 = arith.xori %a, %a : vector<5xi128>
  %1 = arith.xori %b, %b : tensor<?x2xi1>
  %2 = arith.xori %c, %c : tensor<*xi32>
  %3 = arith.xori %d, %d : vector<[4]xi1>
  return %0, %1, %2, %3 : vector<5xi128>, tensor<?x2xi1>, tensor<*xi32>, vector<[4]xi1>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @xori(%a: i24) -> i24 {
  %0 = "arith.xori"(%a, %a) {keep.note = "xori"} : (i24, i24) -> i24
  %1 = arith.xori %0, %a {keep.level = 13 : i32} : i24
  return %1 : i24
}
// -----
// Scalars of two types.
func.func @shrsi(%a: i24, %b: i128) -> (i24, i128) {
  %0 = arith.shrsi %a, %a : i24
  %1 = arith.shrsi %b, %b : i128
  return %0, %1 : i24, i128
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @shrsi(%a: vector<6xi1024>, %b: tensor<3x3xi4>, %c: tensor<*xi64>, %d: vector<[8]xi4>) -> (vector<6xi1024>, tensor<3x3xi4>, tensor<*xi64>, vector<[8]xi4>) {
  %0 = arith.shrsi %a, %a : vector<6xi1024>
  %1 = arith.shrsi %b, %b : tensor<3x3xi4>
  %2 = arith.shrsi %c, %c : tensor<*xi64>
  %3 = arith.shrsi %d, %d : vector<[8]xi4>
  return %0, %1, %2, %3 : vector<6xi1024>, tensor<3x3xi4>, tensor<*xi64>, vector<[8]xi4>
}
// -----
// Exact, in custom and generic form.
func.func @shrsi(%a: i24, %b: vector<6xi1024>) -> i24 {
  %0 = arith.shrsi %a, %a exact : i24
  %1 = arith.shrsi %b, %b exact {keep.x} : vector<6xi1024>
  %2 = "arith.shrsi"(%a, %a) <{isExact}> : (i24, i24) -> i24
  %3 = "arith.shrsi"(%a, %a) : (i24, i24) -> i24
  return %3 : i24
}
// -----
// Scalars of two types.
func.func @shrui(%a: i32, %b: i1) -> (i32, i1) {
  %0 = arith.shrui %a, %a : i32
  %1 = arith.shrui %b, %b : i1
  return %0, %1 : i32, i1
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @shrui(%a: vector<2xindex>, %b: tensor<?x4xi8>, %c: tensor<*xi128>, %d: vector<[2]xi8>) -> (vector<2xindex>, tensor<?x4xi8>, tensor<*xi128>, vector<[2]xi8>) {
  %0 = arith.shrui %a, %a : vector<2xindex>
  %1 = arith.shrui %b, %b : tensor<?x4xi8>
  %2 = arith.shrui %c, %c : tensor<*xi128>
  %3 = arith.shrui %d, %d : vector<[2]xi8>
  return %0, %1, %2, %3 : vector<2xindex>, tensor<?x4xi8>, tensor<*xi128>, vector<[2]xi8>
}
// -----
// Exact, in custom and generic form.
func.func @shrui(%a: i32, %b: vector<2xindex>) -> i32 {
  %0 = arith.shrui %a, %a exact : i32
  %1 = arith.shrui %b, %b exact {keep.x} : vector<2xindex>
  %2 = "arith.shrui"(%a, %a) <{isExact}> : (i32, i32) -> i32
  %3 = "arith.shrui"(%a, %a) : (i32, i32) -> i32
  return %3 : i32
}
// -----
// Scalars of two types.
func.func @maxsi(%a: i64, %b: i16) -> (i64, i16) {
  %0 = arith.maxsi %a, %a : i64
  %1 = arith.maxsi %b, %b : i16
  return %0, %1 : i64, i16
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @maxsi(%a: vector<3xi1>, %b: tensor<3x1xi16>, %c: tensor<*xi1024>, %d: vector<[4]xi16>) -> (vector<3xi1>, tensor<3x1xi16>, tensor<*xi1024>, vector<[4]xi16>) {
  %0 = arith.maxsi %a, %a : vector<3xi1>
  %1 = arith.maxsi %b, %b : tensor<3x1xi16>
  %2 = arith.maxsi %c, %c : tensor<*xi1024>
  %3 = arith.maxsi %d, %d : vector<[4]xi16>
  return %0, %1, %2, %3 : vector<3xi1>, tensor<3x1xi16>, tensor<*xi1024>, vector<[4]xi16>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @maxsi(%a: i16) -> i16 {
  %0 = "arith.maxsi"(%a, %a) {keep.note = "maxsi"} : (i16, i16) -> i16
  %1 = arith.maxsi %0, %a {keep.level = 16 : i32} : i16
  return %1 : i16
}
// -----
// Scalars of two types.
func.func @maxui(%a: i128, %b: i64) -> (i128, i64) {
  %0 = arith.maxui %a, %a : i128
  %1 = arith.maxui %b, %b : i64
  return %0, %1 : i128, i64
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @maxui(%a: vector<4xi4>, %b: tensor<?x2xi24>, %c: tensor<*xindex>, %d: vector<[8]xi24>) -> (vector<4xi4>, tensor<?x2xi24>, tensor<*xindex>, vector<[8]xi24>) {
  %0 = arith.maxui %a, %a : vector<4xi4>
  %1 = arith.maxui %b, %b : tensor<?x2xi24>
  %2 = arith.maxui %c, %c : tensor<*xindex>
  %3 = arith.maxui %d, %d : vector<[8]xi24>
  return %0, %1, %2, %3 : vector<4xi4>, tensor<?x2xi24>, tensor<*xindex>, vector<[8]xi24>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @maxui(%a: i64) -> i64 {
  %0 = "arith.maxui"(%a, %a) {keep.note = "maxui"} : (i64, i64) -> i64
  %1 = arith.maxui %0, %a {keep.level = 17 : i32} : i64
  return %1 : i64
}
// -----
// Scalars of two types.
func.func @minsi(%a: i1024, %b: index) -> (i1024, index) {
  %0 = arith.minsi %a, %a : i1024
  %1 = arith.minsi %b, %b : index
  return %0, %1 : i1024, index
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @minsi(%a: vector<5xi8>, %b: tensor<3x3xi32>, %c: tensor<*xi1>, %d: vector<[2]xi32>) -> (vector<5xi8>, tensor<3x3xi32>, tensor<*xi1>, vector<[2]xi32>) {
  %0 = arith.minsi %a, %a : vector<5xi8>
  %1 = arith.minsi %b, %b : tensor<3x3xi32>
  %2 = arith.minsi %c, %c : tensor<*xi1>
  %3 = arith.minsi %d, %d : vector<[2]xi32>
  return %0, %1, %2, %3 : vector<5xi8>, tensor<3x3xi32>, tensor<*xi1>, vector<[2]xi32>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @minsi(%a: index) -> index {
  %0 = "arith.minsi"(%a, %a) {keep.note = "minsi"} : (index, index) -> index
  %1 = arith.minsi %0, %a {keep.level = 18 : i32} : index
  return %1 : index
}
// -----
// Scalars of two types.
func.func @minui(%a: index, %b: i8) -> (index, i8) {
  %0 = arith.minui %a, %a : index
  %1 = arith.minui %b, %b : i8
  return %0, %1 : index, i8
}
// -----
// Containers: fixed, dynamic, unranked and scalable.
func.func @minui(%a: vector<6xi16>, %b: tensor<?x4xi64>, %c: tensor<*xi4>, %d: vector<[4]xi64>) -> (vector<6xi16>, tensor<?x4xi64>, tensor<*xi4>, vector<[4]xi64>) {
  %0 = arith.minui %a, %a : vector<6xi16>
  %1 = arith.minui %b, %b : tensor<?x4xi64>
  %2 = arith.minui %c, %c : tensor<*xi4>
  %3 = arith.minui %d, %d : vector<[4]xi64>
  return %0, %1, %2, %3 : vector<6xi16>, tensor<?x4xi64>, tensor<*xi4>, vector<[4]xi64>
}
// -----
// Generic form, and discardable attributes in custom form.
func.func @minui(%a: i8) -> i8 {
  %0 = "arith.minui"(%a, %a) {keep.note = "minui"} : (i8, i8) -> i8
  %1 = arith.minui %0, %a {keep.level = 19 : i32} : i8
  return %1 : i8
}
