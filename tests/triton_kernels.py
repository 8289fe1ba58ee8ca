"""Kernels in the manner of Triton's tutorials, written for these tests. Triton reads their source from this file."""

# The names are Triton's, which has no types.
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    x = tl.load(x_ptr + i, mask=inside)
    tl.store(z_ptr + i, x + tl.load(y_ptr + i, mask=inside), mask=inside)


@triton.jit
def scale(arrays, factors, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(arrays[1] + i, mask=i < n)
    tl.store(arrays[0] + i, x * factors[0] + factors[1][0], mask=i < n)


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * x + 0.1, mask=i < n)


@triton.jit
def softmax(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * columns + i, mask=i < columns, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    pid = tl.program_id(0)
    group = pid // (GROUP * tiles_n)
    rows = min(tiles_m - group * GROUP, GROUP)
    m = group * GROUP + pid % (GROUP * tiles_n) % rows
    n = pid % (GROUP * tiles_n) // rows
    i, j, k = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(
            a_ptr + i[:, None] * K + start + k[None, :], mask=(i[:, None] < M) & (start + k[None, :] < K), other=0
        )
        b = tl.load(
            b_ptr + (start + k[:, None]) * N + j[None, :], mask=(start + k[:, None] < K) & (j[None, :] < N), other=0
        )
        acc = tl.dot(a, b, acc)
    tl.store(
        c_ptr + i[:, None] * N + j[None, :], acc.to(c_ptr.dtype.element_ty), mask=(i[:, None] < M) & (j[None, :] < N)
    )


@triton.jit
def dropout(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.where(tl.rand(seed, i) > p, x / (1 - p), 0.0), mask=i < n)


@triton.jit
def layer_norm(x_ptr, y_ptr, w_ptr, b_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n + i, mask=i < n, other=0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.where(i < n, tl.load(x_ptr + row * n + i, mask=i < n, other=0).to(tl.float32) - mean, 0.0)
        total += x * x
    scale = 1 / tl.sqrt(tl.sum(total, axis=0) / n + eps)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + i, mask=i < n, other=0).to(tl.float32)
        y = (x - mean) * scale * tl.load(w_ptr + i, mask=i < n) + tl.load(b_ptr + i, mask=i < n)
        tl.store(y_ptr + row * n + i, y.to(y_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, o_ptr, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr
):
    i, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    q = tl.load(q_ptr + i[:, None] * D + d[None, :])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    total, acc = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        j = start + tl.arange(0, BN)
        k = tl.load(k_ptr + j[None, :] * D + d[:, None])
        s = tl.dot(q, k) * (scale * 1.44269504)
        if CAUSAL:
            s = tl.where(i[:, None] >= j[None, :], s, -float("inf"))
        now = tl.maximum(largest, tl.max(s, axis=1))
        p, keep = tl.exp2(s - now[:, None]), tl.exp2(largest - now)
        total, largest = total * keep + tl.sum(p, axis=1), now
        acc = tl.dot(p.to(v_ptr.dtype.element_ty), tl.load(v_ptr + j[:, None] * D + d[None, :]), acc * keep[:, None])
    tl.store(o_ptr + i[:, None] * D + d[None, :], (acc / total[:, None]).to(o_ptr.dtype.element_ty))


@triton.jit
def grouped(a_ptr, b_ptr, c_ptr, sizes_ptr, count, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile, first, row = tl.program_id(0), 0, 0
    for group in range(count):
        M = tl.load(sizes_ptr + group)
        tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
        while (tile >= first) & (tile < first + tiles):
            own = tile - first
            i, j = own // tl.cdiv(N, BN) * BM + tl.arange(0, BM), own % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                k = start + tl.arange(0, BK)
                a = tl.load(a_ptr + (row + i[:, None]) * K + k[None, :], mask=i[:, None] < M, other=0)
                acc = tl.dot(a, tl.load(b_ptr + (group * K + k[:, None]) * N + j[None, :]), acc)
            tl.store(c_ptr + (row + i[:, None]) * N + j[None, :], acc.to(c_ptr.dtype.element_ty), mask=i[:, None] < M)
            tile += tl.num_programs(0)
        first += tiles
        row += M


@triton.jit
def persistent(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr = False
):
    tiles_n = tl.cdiv(N, BN)
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BM, BN])
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, tl.num_programs(0), warp_specialize=PARTS):
        m, n = tile // tiles_n * BM, tile % tiles_n * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
        c_desc.store([m, n], acc.to(c_ptr.dtype.element_ty))


@triton.jit
def attention_by_descriptors(
    q_desc, k_desc, v_desc, o_ptr, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr
):
    first = tl.program_id(0) * BM
    q = q_desc.load([first, 0])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    total, acc = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for start in tl.range(0, n, BN, warp_specialize=PARTS):
        s = tl.dot(q, k_desc.load([start, 0]).T) * scale
        now = tl.maximum(largest, tl.max(s, axis=1))
        p, keep = tl.exp2(s - now[:, None]), tl.exp2(largest - now)
        total, largest = total * keep + tl.sum(p, axis=1), now
        acc = tl.dot(p.to(tl.float16), v_desc.load([start, 0]), acc * keep[:, None])
    i, d = first + tl.arange(0, BM), tl.arange(0, D)
    tl.store(o_ptr + i[:, None] * D + d[None, :], (acc / total[:, None]).to(o_ptr.dtype.element_ty))


@triton.jit
def scaled(a_ptr, sa_ptr, b_ptr, sb_ptr, c_ptr, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i, j, k = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, K)
    s = tl.arange(0, K // 32)
    a = tl.load(a_ptr + i[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + j[None, :])
    sa = tl.load(sa_ptr + i[:, None] * (K // 32) + s[None, :])
    sb = tl.load(sb_ptr + j[:, None] * (K // 32) + s[None, :])
    c = tl.dot_scaled(a, sa, "e4m3", b, sb, "e4m3")
    tl.store(c_ptr + i[:, None] * N + j[None, :], c)


@triton.jit
def talkative(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.device_assert(x < 4, "x must be less than 4")
    tl.device_print("x is", x)
    tl.store(y_ptr + i, x)


@triton.jit
def _wrapped(x):
    return x + x


@triton.jit
def mapped(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.map_elementwise(_wrapped, tl.load(x_ptr + i)))


@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def tuned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@triton.heuristics({"BLOCK": lambda arguments: triton.next_power_of_2(arguments["n"])})
@triton.jit
def guessed(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def _nearest(x, steps):
    while x > 1.5:
        x = x / 2
        steps += 1
    return x, steps


@triton.jit
def halved(x_ptr, y_ptr, n_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x, n = tl.map_elementwise(_nearest, tl.load(x_ptr + i), tl.zeros((BLOCK,), tl.int32))
    tl.store(y_ptr + i, x)
    tl.store(n_ptr + i, n)


@triton.jit
def chosen(first_ptr, second_ptr, out_ptr, taken, BLOCK: tl.constexpr):
    # An argument that gets the value of another one has the name of the other one in the text.
    source_ptr = first_ptr
    if taken == 2:
        source_ptr = second_ptr
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(source_ptr + i))


@triton.jit
def rows(x_ptr, y_ptr, row_step, column_step, columns, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(y_ptr + row, tl.sum(tl.load(x_ptr + row * row_step + i * column_step, mask=i < columns)))


@triton.jit
def described(x_desc, y_desc, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    y_desc.store([row, 0], x_desc.load([row, 0]) * 2 + n)
