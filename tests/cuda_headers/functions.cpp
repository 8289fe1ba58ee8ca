// Conversions and arithmetic of NVIDIA's headers on arrays of codes, one C function for each; tests/semantics/test_cuda_headers.py
// calls them. Without nvcc the headers compile their host code, NVIDIA's own model of the instructions in software.

#include <cstdint>
#include <cstring>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_fp4.h"
#include "cuda_fp6.h"
#include "cuda_fp8.h"

namespace {

// The types of the headers by halfulp's names. Each has the size of its code.
using f16 = __half_raw;
using bf16 = __nv_bfloat16_raw;
using f32 = float;
using f64 = double;
using narrow = uint8_t;

template <typename To, typename From> To moved(const From &from) {
    static_assert(sizeof(To) == sizeof(From), "a value and its code differ in size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

__half as_f16(f16 x) { return __half(x); }
__nv_bfloat16 as_bf16(bf16 x) { return __nv_bfloat16(x); }
f16 raw(__half x) { return static_cast<f16>(x); }
bf16 raw(__nv_bfloat16 x) { return static_cast<bf16>(x); }

} // namespace

#define EACH(name, from, to, result) \
    extern "C" void name(const from *a, to *out, long n) { \
        for (long i = 0; i < n; i++) { from x = a[i]; out[i] = result; } }
#define PAIRS(name, type, result) \
    extern "C" void name(const type *a, const type *b, type *out, long n) { \
        for (long i = 0; i < n; i++) { type x = a[i], y = b[i]; out[i] = result; } }

// To f8E4M3FN and f8E5M2, to nearest even.
#define TO_FP8(source, function) \
    EACH(source##_to_f8E4M3FN_rn, source, narrow, function(x, __NV_NOSAT, __NV_E4M3)) \
    EACH(source##_to_f8E4M3FN_rn_sat, source, narrow, function(x, __NV_SATFINITE, __NV_E4M3)) \
    EACH(source##_to_f8E5M2_rn, source, narrow, function(x, __NV_NOSAT, __NV_E5M2)) \
    EACH(source##_to_f8E5M2_rn_sat, source, narrow, function(x, __NV_SATFINITE, __NV_E5M2))
TO_FP8(f16, __nv_cvt_halfraw_to_fp8)
TO_FP8(bf16, __nv_cvt_bfloat16raw_to_fp8)
TO_FP8(f32, __nv_cvt_float_to_fp8)
TO_FP8(f64, __nv_cvt_double_to_fp8)

// To unsigned formats: four modes, with and without saturation.
#define IN_ALL_MODES(source, target, function) \
    EACH(source##_to_##target##_rn, source, narrow, function(x, __NV_NOSAT, cudaRoundNearest)) \
    EACH(source##_to_##target##_rz, source, narrow, function(x, __NV_NOSAT, cudaRoundZero)) \
    EACH(source##_to_##target##_ru, source, narrow, function(x, __NV_NOSAT, cudaRoundPosInf)) \
    EACH(source##_to_##target##_rd, source, narrow, function(x, __NV_NOSAT, cudaRoundMinInf)) \
    EACH(source##_to_##target##_rn_sat, source, narrow, function(x, __NV_SATFINITE, cudaRoundNearest)) \
    EACH(source##_to_##target##_rz_sat, source, narrow, function(x, __NV_SATFINITE, cudaRoundZero)) \
    EACH(source##_to_##target##_ru_sat, source, narrow, function(x, __NV_SATFINITE, cudaRoundPosInf)) \
    EACH(source##_to_##target##_rd_sat, source, narrow, function(x, __NV_SATFINITE, cudaRoundMinInf))
IN_ALL_MODES(bf16, f8E8M0FNU, __nv_cvt_bfloat16raw_to_e8m0)
IN_ALL_MODES(f32, f8E8M0FNU, __nv_cvt_float_to_e8m0)
IN_ALL_MODES(f64, f8E8M0FNU, __nv_cvt_double_to_e8m0)
IN_ALL_MODES(f16, f8E5M3FNU, __nv_cvt_halfraw_to_ue5m3)
IN_ALL_MODES(bf16, f8E5M3FNU, __nv_cvt_bfloat16raw_to_ue5m3)
IN_ALL_MODES(f32, f8E5M3FNU, __nv_cvt_float_to_ue5m3)
IN_ALL_MODES(f64, f8E5M3FNU, __nv_cvt_double_to_ue5m3)

// To formats without infinities and NaN: four modes, always with saturation.
#define SATURATED(source, target, function, kind) \
    EACH(source##_to_##target##_rn_sat, source, narrow, function(x, kind, cudaRoundNearest)) \
    EACH(source##_to_##target##_rz_sat, source, narrow, function(x, kind, cudaRoundZero)) \
    EACH(source##_to_##target##_ru_sat, source, narrow, function(x, kind, cudaRoundPosInf)) \
    EACH(source##_to_##target##_rd_sat, source, narrow, function(x, kind, cudaRoundMinInf))
#define TO_FP6_AND_FP4(source, name) \
    SATURATED(source, f6E3M2FN, __nv_cvt_##name##_to_fp6, __NV_E3M2) \
    SATURATED(source, f6E2M3FN, __nv_cvt_##name##_to_fp6, __NV_E2M3) \
    SATURATED(source, f4E2M1FN, __nv_cvt_##name##_to_fp4, __NV_E2M1)
TO_FP6_AND_FP4(f16, halfraw)
TO_FP6_AND_FP4(bf16, bfloat16raw)
TO_FP6_AND_FP4(f32, float)
TO_FP6_AND_FP4(f64, double)

// From the narrow formats.
#define FROM_NARROW(source, name, ...) \
    EACH(source##_to_f16_rn, narrow, f16, __nv_cvt_##name##_to_halfraw(__VA_ARGS__)) \
    EACH(source##_to_bf16_rn, narrow, bf16, __nv_cvt_##name##_to_bf16raw(__VA_ARGS__))
FROM_NARROW(f8E4M3FN, fp8, x, __NV_E4M3)
FROM_NARROW(f8E5M2, fp8, x, __NV_E5M2)
FROM_NARROW(f6E3M2FN, fp6, x, __NV_E3M2)
FROM_NARROW(f6E2M3FN, fp6, x, __NV_E2M3)
FROM_NARROW(f4E2M1FN, fp4, x, __NV_E2M1)
FROM_NARROW(f8E5M3FNU, ue5m3, x)
EACH(f8E8M0FNU_to_bf16_rn, narrow, bf16, __nv_cvt_e8m0_to_bf16raw(x))
// f16 and bf16.
#define TO_16(source, target, prefix) \
    EACH(source##_to_##target##_rn, source, target, raw(prefix##_rn(x))) \
    EACH(source##_to_##target##_rz, source, target, raw(prefix##_rz(x))) \
    EACH(source##_to_##target##_ru, source, target, raw(prefix##_ru(x))) \
    EACH(source##_to_##target##_rd, source, target, raw(prefix##_rd(x)))
TO_16(f32, f16, __float2half)
TO_16(f32, bf16, __float2bfloat16)
EACH(f64_to_f16_rn, f64, f16, raw(__double2half(x)))
EACH(f64_to_bf16_rn, f64, bf16, raw(__double2bfloat16(x)))
EACH(f16_to_f32_rn, f16, f32, __half2float(as_f16(x)))
EACH(bf16_to_f32_rn, bf16, f32, __bfloat162float(as_bf16(x)))

// Integers.
#define OF_INTEGERS(integer, name) \
    TO_16(integer, f16, __##name##2half) \
    EACH(integer##_to_bf16_rn, integer, bf16, raw(__##name##2bfloat16_rn(x))) \
    EACH(f16_to_##integer##_rz, f16, integer, __half2##name##_rz(as_f16(x))) \
    EACH(bf16_to_##integer##_rz, bf16, integer, __bfloat162##name##_rz(as_bf16(x)))
using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned;
using i64 = long long;
using u64 = unsigned long long;
OF_INTEGERS(i16, short)
OF_INTEGERS(u16, ushort)
OF_INTEGERS(i32, int)
OF_INTEGERS(u32, uint)
OF_INTEGERS(i64, ll)
OF_INTEGERS(u64, ull)
EACH(f16_to_i8_rz, f16, i8, __half2char_rz(as_f16(x)))
EACH(f16_to_u8_rz, f16, u8, __half2uchar_rz(as_f16(x)))
EACH(bf16_to_i8_rz, bf16, i8, __bfloat162char_rz(as_bf16(x)))
EACH(bf16_to_u8_rz, bf16, u8, __bfloat162uchar_rz(as_bf16(x)))

// The classes of the narrow formats convert to and from the types of C++. From integers f8E8M0FNU rounds toward +infinity.
#define IN_CLASS(type, name, mode) \
    EACH(name##_to_f32_rn, narrow, f32, static_cast<float>(moved<type>(x))) \
    EACH(name##_to_i8_rz, narrow, i8, static_cast<signed char>(moved<type>(x))) \
    EACH(name##_to_u8_rz, narrow, u8, static_cast<unsigned char>(moved<type>(x))) \
    OF_CLASS(type, name, mode, i16) \
    OF_CLASS(type, name, mode, u16) \
    OF_CLASS(type, name, mode, i32) \
    OF_CLASS(type, name, mode, u32) \
    OF_CLASS(type, name, mode, i64) \
    OF_CLASS(type, name, mode, u64)
#define OF_CLASS(type, name, mode, integer) \
    EACH(name##_to_##integer##_rz, narrow, integer, static_cast<integer>(moved<type>(x))) \
    EACH(integer##_to_##name##_##mode##_sat, integer, narrow, moved<narrow>(type(x)))
IN_CLASS(__nv_fp8_e4m3, f8E4M3FN, rn)
IN_CLASS(__nv_fp8_e5m2, f8E5M2, rn)
IN_CLASS(__nv_fp8_e8m0, f8E8M0FNU, ru)
IN_CLASS(__nv_fp8_ue5m3, f8E5M3FNU, rn)
IN_CLASS(__nv_fp6_e3m2, f6E3M2FN, rn)
IN_CLASS(__nv_fp6_e2m3, f6E2M3FN, rn)
IN_CLASS(__nv_fp4_e2m1, f4E2M1FN, rn)

// Arithmetic of f16 and bf16, to nearest even.
#define ARITHMETIC(type, value) \
    PAIRS(type##_add, type, raw(__hadd(value(x), value(y)))) \
    PAIRS(type##_subtract, type, raw(__hsub(value(x), value(y)))) \
    PAIRS(type##_multiply, type, raw(__hmul(value(x), value(y)))) \
    PAIRS(type##_divide, type, raw(__hdiv(value(x), value(y)))) \
    PAIRS(type##_maximum, type, raw(__hmax_nan(value(x), value(y)))) \
    PAIRS(type##_minimum, type, raw(__hmin_nan(value(x), value(y)))) \
    PAIRS(type##_maximum_number, type, raw(__hmax(value(x), value(y)))) \
    PAIRS(type##_minimum_number, type, raw(__hmin(value(x), value(y))))
ARITHMETIC(f16, as_f16)
ARITHMETIC(bf16, as_bf16)
