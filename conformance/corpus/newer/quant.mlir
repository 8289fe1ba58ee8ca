func.func private @storage(!quant.uniform<f8E4M3FN:f32, 0.5>)
// -----
func.func private @storage(!quant.uniform<f8E5M2:bf16, 2.0>, !quant.uniform<f4E2M1FN:f32, 1.0>)
// -----
func.func private @channel(tensor<2x!quant.uniform<f8E4M3FN:f32:0, {1.0, 2.0}>>)
// -----
func.func private @blocks(tensor<2x4x!quant.uniform<f8E5M2:f32:{1:2}, {{1.0, 2.0}}>>)
