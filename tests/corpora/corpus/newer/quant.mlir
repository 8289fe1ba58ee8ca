func.func private @storage(!quant.uniform<f8E4M3FN:f32, 0.5>)
// -----
func.func private @storage(!quant.uniform<f8E5M2:bf16, 2.0>, !quant.uniform<f4E2M1FN:f32, 1.0>)
// -----
func.func private @channel(tensor<2x!quant.uniform<f8E4M3FN:f32:0, {1.0, 2.0}>>)
// -----
func.func private @blocks(tensor<2x4x!quant.uniform<f8E5M2:f32:{1:2}, {{1.0, 2.0}}>>)
// -----
func.func private @quantile(!quant.quantile<ui2:f16, {-1.0, 0.0, 1.0, 2.0}>, !quant.quantile<si4:f8E4M3FN, {1.0, 2.0, 3.0}, <-1:1>>, !quant.uniform<!quant.quantile<ui2:f16, {-1.0, 0.0, 1.0, 2.0}>:f32, 0.5:1>)
