func.func private @layer(!quant.uniform<i8:f32, 3.0>, !quant.uniform<u16<0:1023>:f32, 1.23:512>)
// -----
func.func private @channel(tensor<2x3x4x!quant.uniform<i8:f32:1, {3.0, 4.0, 5.0}>>, tensor<?x?x!quant.uniform<u16:f32:0, {2.0:10, 3.0:20}>>)
// -----
// One channel.
func.func private @one(tensor<?x!quant.uniform<i8:f32:0, {0.5}>>)
// -----
// Bounds of the storage that are its whole range are not printed.
func.func private @bounds(!quant.uniform<i8<-128:127>:f32, 1.0>, !quant.uniform<i8<-127:127>:f32, 1.0>, !quant.uniform<u8<0:255>:f32, 1.0>, !quant.uniform<i4<-7:7>:f32, 1.0>)
// -----
// Zero points: none, zero, negative, the largest.
func.func private @points(!quant.uniform<i8:f32, 1.0>, !quant.uniform<i8:f32, 1.0:0>, !quant.uniform<i8:f32, 1.0:-128>, !quant.uniform<u8:f32, 1.0:255>)
// -----
// Every expressed type that is common.
func.func private @expressed(!quant.uniform<i8:f16, 1.0>, !quant.uniform<i8:bf16, 1.0>, !quant.uniform<i8:f64, 1.0>, !quant.uniform<i8:f80, 1.0>, !quant.uniform<i8:tf32, 1.0>, !quant.uniform<i8:f128, 1.0>)
// -----
// Storage of every width from 1 to 32.
func.func private @storage(!quant.uniform<i2:f32, 1.0>, !quant.uniform<u1:f32, 1.0>, !quant.uniform<i7:f32, 1.0>, !quant.uniform<u13:f32, 1.0>, !quant.uniform<i32:f32, 1.0>, !quant.uniform<u32:f32, 1.0>)
// -----
// Scales that are not short.
func.func private @scales(!quant.uniform<i8:f32, 0.0078125>, !quant.uniform<i8:f32, 1.0e-10>, !quant.uniform<i8:f32, 9.987200e-01:127>, !quant.uniform<i8:f32, 0.1>)
// -----
// Sub-channel: blocks along two axes.
func.func private @blocks(tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{2.0:10, 3.0:20}, {4.0:30, 5.0:40}}>>)
// -----
// Sub-channel: one axis named, the other one block.
func.func private @blocks(tensor<6x2x!quant.uniform<i8:f32:{0:3}, {{1.0}, {3.0}}>>)
// -----
// Sub-channel with bounds.
func.func private @blocks(tensor<2x2x!quant.uniform<u8<1:254>:f16:{0:1, 1:1}, {{1.0, 2.0}, {3.0, 4.0}}>>)
// -----
// No blocks: the whole tensor.
func.func private @whole(tensor<!quant.uniform<i8:f32:{}, {1.0}>>)
// -----
func.func private @any(!quant.any<i8<-8:7>:f32>, !quant.any<i8:f32>, !quant.any<u8>, !quant.any<i8<-8:7>>)
// -----
func.func private @calibrated(!quant.calibrated<f32<-0.998:1.2321>>, !quant.calibrated<f32<-1.0:1.0>>, !quant.calibrated<f64<0.0:6.0>>)
// -----
// Inside tuples, functions and aliases.
!q = !quant.uniform<i8:f32, 2.0:-1>
func.func private @inside(tuple<!q, i8>, (!q) -> !q, tensor<*x!q>, tensor<4x!q, "enc">)
// -----
// The longer spelling of the dialect's types.
func.func private @long(!quant<uniform<i8:f32, 1.0>>, !quant<any<i8:f32>>)
