func.func @scalar(%x: f32) -> f32 {
  %0 = quant.qcast %x : f32 to !quant.uniform<i8:f32, 2.0>
  %1 = quant.dcast %0 : !quant.uniform<i8:f32, 2.0> to f32
  return %1 : f32
}
// -----
func.func @static(%x: tensor<2x3xf16>) -> tensor<2x3xf16> {
  %0 = quant.qcast %x : tensor<2x3xf16> to tensor<2x3x!quant.uniform<u8:f16, 0.5:128>>
  %1 = quant.dcast %0 : tensor<2x3x!quant.uniform<u8:f16, 0.5:128>> to tensor<2x3xf16>
  return %1 : tensor<2x3xf16>
}
// -----
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = quant.qcast %x : tensor<?xf32> to tensor<?x!quant.uniform<i8:f32, 2.0>>
  %1 = quant.dcast %0 : tensor<?x!quant.uniform<i8:f32, 2.0>> to tensor<?xf32>
  return %1 : tensor<?xf32>
}
// -----
func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  %0 = quant.qcast %x : tensor<*xf32> to tensor<*x!quant.uniform<i8:f32:1, {2.0, 3.0}>>
  %1 = quant.dcast %0 : tensor<*x!quant.uniform<i8:f32:1, {2.0, 3.0}>> to tensor<*xf32>
  return %1 : tensor<*xf32>
}
// -----
func.func @channels(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %0 = quant.qcast %x : tensor<2x3xbf16> to tensor<2x3x!quant.uniform<i4:bf16:1, {1.0, 2.0:-3, 4.0:7}>>
  %1 = quant.dcast %0 : tensor<2x3x!quant.uniform<i4:bf16:1, {1.0, 2.0:-3, 4.0:7}>> to tensor<2x3xbf16>
  return %1 : tensor<2x3xbf16>
}
// -----
func.func @blocks(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{2.0:10, 3.0:20}, {4.0:30, 5.0:40}}>>
  %1 = quant.dcast %0 : tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{2.0:10, 3.0:20}, {4.0:30, 5.0:40}}>> to tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
// -----
// Storage casts, there and back.
!q = !quant.uniform<i8:f32, 2.0>
func.func @storage(%x: i8, %y: tensor<?xi8>) -> (i8, tensor<?xi8>) {
  %0 = quant.scast %x : i8 to !q
  %1 = quant.scast %0 : !q to i8
  %2 = quant.scast %y : tensor<?xi8> to tensor<?x!q>
  %3 = quant.scast %2 : tensor<?x!q> to tensor<?xi8>
  return %1, %3 : i8, tensor<?xi8>
}
// -----
// Storage casts of channels in an unranked tensor.
func.func @storage(%x: tensor<*xi8>) -> tensor<*x!quant.uniform<i8:f32:1, {2.0, 3.0}>> {
  %0 = quant.scast %x : tensor<*xi8> to tensor<*x!quant.uniform<i8:f32:1, {2.0, 3.0}>>
  return %0 : tensor<*x!quant.uniform<i8:f32:1, {2.0, 3.0}>>
}
// -----
// Unsigned storage is cast from a signless integer.
func.func @storage(%x: i16) -> !quant.uniform<u16<0:1023>:f32, 1.23:512> {
  %0 = quant.scast %x : i16 to !quant.uniform<u16<0:1023>:f32, 1.23:512>
  return %0 : !quant.uniform<u16<0:1023>:f32, 1.23:512>
}
// -----
// Attributes.
func.func @attributed(%x: f32) {
  %0 = quant.qcast %x {keep.a} : f32 to !quant.uniform<i8:f32, 2.0>
  %1 = quant.dcast %0 {keep.b = 1 : i8} : !quant.uniform<i8:f32, 2.0> to f32
  %2 = quant.scast %0 {keep.c} : !quant.uniform<i8:f32, 2.0> to i8
  return
}
// -----
// Generic form.
func.func @generic(%x: tensor<4xf64>) -> tensor<4xi8> {
  %0 = "quant.qcast"(%x) : (tensor<4xf64>) -> tensor<4x!quant.uniform<i8<-100:100>:f64, 0.1:5>>
  %1 = "quant.dcast"(%0) : (tensor<4x!quant.uniform<i8<-100:100>:f64, 0.1:5>>) -> tensor<4xf64>
  %2 = "quant.scast"(%0) : (tensor<4x!quant.uniform<i8<-100:100>:f64, 0.1:5>>) -> tensor<4xi8>
  return %2 : tensor<4xi8>
}
// -----
// A tensor of rank zero.
func.func @rank_zero(%x: tensor<f32>) -> tensor<!quant.uniform<i8:f32, 1.0>> {
  %0 = quant.qcast %x : tensor<f32> to tensor<!quant.uniform<i8:f32, 1.0>>
  return %0 : tensor<!quant.uniform<i8:f32, 1.0>>
}
// -----
// A dynamic channel axis.
func.func @channels(%x: tensor<?x?xf32>) -> tensor<?x?x!quant.uniform<u16:f32:0, {2.0:10, 3.0:20}>> {
  %0 = quant.qcast %x : tensor<?x?xf32> to tensor<?x?x!quant.uniform<u16:f32:0, {2.0:10, 3.0:20}>>
  return %0 : tensor<?x?x!quant.uniform<u16:f32:0, {2.0:10, 3.0:20}>>
}
// -----
// No elements.
func.func @empty(%x: tensor<0x2xf32>) -> tensor<0x2x!quant.uniform<i8:f32, 1.0>> {
  %0 = quant.qcast %x : tensor<0x2xf32> to tensor<0x2x!quant.uniform<i8:f32, 1.0>>
  return %0 : tensor<0x2x!quant.uniform<i8:f32, 1.0>>
}
// -----
// Any-quantized values only change their storage.
func.func @any(%x: !quant.any<i8:f32>) -> f32 {
  %0 = quant.dcast %x : !quant.any<i8:f32> to f32
  return %0 : f32
}
// -----
// Other expressed types.
func.func @expressed(%a: f64, %b: f80, %c: tf32, %d: f128) {
  %0 = quant.qcast %a : f64 to !quant.uniform<i16:f64, 1.0e-3:-5>
  %1 = quant.qcast %b : f80 to !quant.uniform<i32:f80, 0.25>
  %2 = quant.qcast %c : tf32 to !quant.uniform<u4:tf32, 8.0>
  %3 = quant.qcast %d : f128 to !quant.uniform<i2:f128, 1.0:1>
  return
}
