/* plugins/ops/kernels/vector_half.h: fp16 at one vector level: both conversions, and the softmax that rounds to fp16 at each step. */
enum { VH = VL_f32 };

/* Fewer than a vector's worth of elements pass through a small buffer, so that their bits come from the same instructions. */
static void widen(const uint16_t *src, float *dst, int64_t n) {
    int64_t i = 0;
    for (; i + VH <= n; i += VH) st_f32(dst + i, ld_half(src + i));
    if (i == n) return;
    uint16_t in[VH] = { 0 };
    float out[VH];
    memcpy(in, src + i, (size_t)(n - i) * sizeof *in);
    st_f32(out, ld_half(in));
    memcpy(dst + i, out, (size_t)(n - i) * sizeof *out);
}

static void narrow(const float *src, uint16_t *dst, int64_t n) {
    int64_t i = 0;
    for (; i + VH <= n; i += VH) st_half(dst + i, ld_f32(src + i));
    if (i == n) return;
    float in[VH] = { 0 };
    uint16_t out[VH];
    memcpy(in, src + i, (size_t)(n - i) * sizeof *in);
    st_half(out, ld_f32(in));
    memcpy(dst + i, out, (size_t)(n - i) * sizeof *out);
}

/* r16 of one number, through a vector. */
static float round_half_one(float x) {
    float lane[VH];
    st_f32(lane, round_half(set_f32(x)));
    return lane[0];
}

static inline vec_f32 half_exp(vec_f32 x, vec_f32 max) { return round_half(exp_nonpos_f32(round_half(sub_f32(x, max)))); }

static void f16wide_row(const float *src, float *dst, int64_t n) {
    float tail[VH];
    vec_f32 max = set_f32(row_max_f32(src, n));
    int64_t i = 0;
    for (; i + VH <= n; i += VH) st_f32(dst + i, half_exp(ld_f32(src + i), max));
    for (; i < n; i++) {
        st_f32(tail, half_exp(set_f32(src[i]), max));
        dst[i] = tail[0];
    }
    vec_f32 sum = set_f32(round_half_one(sum_f32(dst, n)));
    for (i = 0; i + VH <= n; i += VH) st_f32(dst + i, round_half(div_f32(ld_f32(dst + i), sum)));
    for (; i < n; i++) {
        st_f32(tail, round_half(div_f32(set_f32(dst[i]), sum)));
        dst[i] = tail[0];
    }
}

static void softmax_f16wide(const float *src, float *dst, int64_t rows, int64_t n, uint32_t threads) {
    each_row_f32(src, dst, rows, n, threads, f16wide_row);
}
