"""Kernels in the style in which people write them, with the names of Triton, which has no types."""

# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def add_mask(x, y, z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(z + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, y, n, stride, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * stride + c, mask=c < n, other=-float("inf")).to(tl.float32)
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(y + r * stride + c, (e / tl.sum(e, axis=0)).to(tl.bfloat16), mask=c < n)


@triton.jit
def layer_norm_fwd(x, w, b, y, mean, rstd, n, eps, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    m = c < n
    v = tl.load(x + r * n + c, mask=m, other=0.0)
    mu = tl.sum(v, axis=0) / n
    d = tl.where(m, v - mu, 0.0)
    rs = 1 / tl.sqrt(tl.sum(d * d, axis=0) / n + eps)
    tl.store(mean + r, mu)
    tl.store(rstd + r, rs)
    g = tl.load(w + c, mask=m, other=0.0)
    h = tl.load(b + c, mask=m, other=0.0)
    tl.store(y + r * n + c, d * rs * g + h, mask=m)


@triton.jit
def layer_norm_dx(dy, x, w, mean, rstd, dx, n, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    m = c < n
    v = tl.load(x + r * n + c, mask=m, other=0.0)
    g = tl.load(dy + r * n + c, mask=m, other=0.0)
    k = tl.load(w + c, mask=m, other=0.0)
    mu = tl.load(mean + r)
    rs = tl.load(rstd + r)
    xh = tl.where(m, (v - mu) * rs, 0.0)
    wg = tl.where(m, k * g, 0.0)
    c1 = tl.sum(xh * wg, axis=0) / n
    c2 = tl.sum(wg, axis=0) / n
    tl.store(dx + r * n + c, (wg - (xh * c1 + c2)) * rs, mask=m)


@triton.jit
def matmul_f16(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(
            a + rm[:, None] * K + (k + rk)[None, :], mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0
        )
        y = tl.load(
            b + (k + rk)[:, None] * N + rn[None, :], mask=((k + rk)[:, None] < K) & (rn[None, :] < N), other=0.0
        )
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def matmul_f32(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, P: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc, input_precision=P)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def fp8_block_matmul(a, b, c, sa, sb, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Scales of 1x128 for a and 128x128 for b; each product of 128 k is promoted to f32."""
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    nk = K // BK
    pa = a + rm[:, None] * K + rk[None, :]
    pb = b + rn[None, :] * K + rk[:, None]
    psa = sa + rm * nk
    psb = sb + (rn // BK) * nk
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(nk):
        x = tl.load(pa)
        y = tl.load(pb)
        acc += tl.dot(x, y) * tl.load(psa)[:, None] * tl.load(psb)[None, :]
        pa += BK
        pb += BK
        psa += 1
        psb += 1
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


@triton.jit
def matmul_bias_gelu(a, b, bias, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    acc += tl.load(bias + rn)[None, :].to(tl.float32)
    acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


@triton.jit
def flash_attention(
    q, k, v, o, lse, scale, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr
):
    pm = tl.program_id(0)
    h = tl.program_id(1)
    base = h * n * D
    rm = pm * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    x = tl.load(q + base + rm[:, None] * D + rd[None, :])
    m = tl.full((BM,), -float("inf"), dtype=tl.float32)
    s = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    qk_scale = scale * 1.44269504
    hi = n
    if CAUSAL:
        hi = (pm + 1) * BM
    for j in range(0, hi, BN):
        kt = tl.load(k + base + (j + rn)[None, :] * D + rd[:, None])
        qk = tl.dot(x, kt) * qk_scale
        if CAUSAL:
            qk = tl.where(rm[:, None] >= (j + rn)[None, :], qk, -float("inf"))
        m1 = tl.maximum(m, tl.max(qk, 1))
        p = tl.exp2(qk - m1[:, None])
        alpha = tl.exp2(m - m1)
        s = s * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        w = tl.load(v + base + (j + rn)[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(tl.float16), w, acc)
        m = m1
    acc = acc / s[:, None]
    tl.store(lse + h * n + rm, m + tl.log2(s))
    tl.store(o + base + rm[:, None] * D + rd[None, :], acc.to(tl.float16))


@triton.jit
def dot_scaled_mx(
    a,
    a_scale,
    b,
    b_scale,
    c,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FA: tl.constexpr,
    FB: tl.constexpr,
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    DA: tl.constexpr = 2 if FA == "e2m1" else 1
    DB: tl.constexpr = 2 if FB == "e2m1" else 1
    ka = tl.arange(0, BK // DA)
    kb = tl.arange(0, BK // DB)
    ks = tl.arange(0, BK // 32)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * (K // DA) + (k // DA + ka)[None, :])
        y = tl.load(b + rn[None, :] * (K // DB) + (k // DB + kb)[:, None])
        sx = tl.load(a_scale + rm[:, None] * (K // 32) + (k // 32 + ks)[None, :])
        sy = tl.load(b_scale + rn[:, None] * (K // 32) + (k // 32 + ks)[None, :])
        acc = tl.dot_scaled(x, sx, FA, y, sy, FB, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def int8_matmul_requant(a, b, bias, s, z, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc, out_dtype=tl.int32)
    acc += tl.load(bias + rn)[None, :]
    f = acc.to(tl.float32) * tl.load(s + rn)[None, :]
    f = tl.floor(f + 0.5) + z
    f = tl.minimum(tl.maximum(f, -128.0), 127.0)
    tl.store(c + rm[:, None] * N + rn[None, :], f.to(tl.int8))


@triton.jit
def stochastic_round(x, y, u, n, seed, B: tl.constexpr):
    """f32 to bf16: 16 random bits are added below the cut. u takes the uniform numbers of tl.rand."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    bits = tl.load(x + i, mask=m).to(tl.uint32, bitcast=True)
    r = tl.randint(seed, i)
    bits = bits + (r.to(tl.uint32, bitcast=True) & 0xFFFF)
    tl.store(y + i, (bits >> 16).to(tl.uint16).to(tl.bfloat16, bitcast=True), mask=m)
    tl.store(u + i, tl.rand(seed, i), mask=m)


@triton.jit
def cumsum_rows(x, y, z, n, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=0.0)
    tl.store(y + r * n + c, tl.cumsum(v, axis=0), mask=c < n)
    tl.store(z + r * n + c, tl.cumsum(v, axis=0, reverse=True), mask=c < n)


@triton.jit
def tile_sums(x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    v = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(rows + r, tl.sum(v, axis=1))
    tl.store(columns + c, tl.sum(v, axis=0))


@triton.jit
def sum_squares(x, s, n, B: tl.constexpr):
    """Sums of squares of rows: with fusion on, products go into the first additions of the sum."""
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=0.0)
    tl.store(s + r, tl.sum(v * v, axis=0))


@triton.jit
def argmax_rows(x, i, v, n, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    t = tl.load(x + r * n + c, mask=c < n, other=-float("inf"))
    best, where = tl.max(t, axis=0, return_indices=True)
    tl.store(v + r, best)
    tl.store(i + r, where)


@triton.jit
def histogram_atomic(x, w, counts, sums, n, B: tl.constexpr, BINS: tl.constexpr):
    """Counts by tl.histogram and atomics of integers; weighted sums by atomics of floats on integers' values."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    b = tl.load(x + i, mask=m, other=0)
    h = tl.histogram(b, BINS, mask=m)
    tl.atomic_add(counts + tl.arange(0, BINS), h)
    tl.atomic_add(sums + b, tl.load(w + i, mask=m, other=0.0), mask=m)


@triton.jit
def persistent_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr
):
    """Persistent, with tensor descriptors made on the device; tiles in groups of G rows. b is N x K."""
    start = tl.program_id(0)
    step = tl.num_programs(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    for tile in range(start, nm * nn, step):
        group = tile // (G * nn)
        first = group * G
        size = min(nm - first, G)
        pm = first + (tile % size)
        pn = (tile % (G * nn)) // size
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            x = a.load([pm * BM, k])
            y = b.load([pn * BN, k])
            acc = tl.dot(x, y.T, acc)
        c.store([pm * BM, pn * BN], acc.to(tl.float16))


@triton.jit
def fp8_group_quant(x, q, s, n, B: tl.constexpr, F: tl.constexpr):
    """One group of B elements a program: scale amax / 448, then e4m3."""
    g = tl.program_id(0)
    i = g * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    amax = tl.maximum(tl.max(tl.abs(v)), 1e-10)
    scale = amax / F
    r = tl.clamp(v / scale, -F, F)
    tl.store(q + i, r.to(q.dtype.element_ty), mask=i < n)
    tl.store(s + g, scale)
