/* plugins/ops/kernels/vector_rows.h: exp, sums and softmax for one element type at one vector level. Element i of a row always
 * belongs to virtual lane i mod LANES, so a narrow machine keeps GROUP vectors where a wide one keeps one. */
enum { FN(VL) = (int)(sizeof(VEC) / sizeof(T)), FN(GROUP) = LANES / FN(VL) };

/* exp without the ends above and below 0 sorted out first: right for x <= 0 and NaN (made quiet by the caller's last step). */
static inline VEC FN(exp_nonpos)(VEC x) {
    x = FN(max)(FN(set)(EXP_LOW), x);
    VEC magic = FN(set)(EXP_MAGIC), n = FN(sub)(FN(fma)(x, FN(set)(EXP_LOG2E), magic), magic);
    VEC r = FN(fma)(n, FN(set)(-EXP_LN2_LO), FN(fma)(n, FN(set)(-EXP_LN2_HI), x)), p = FN(set)(EXP_TOP);
#define STEP(c) p = FN(fma)(p, r, FN(set)(c));
    EXP_TERMS(STEP)
#undef STEP
    return FN(scale)(p, n);
}

static void FN(exp)(const T *src, T *dst, int64_t n) {
    int64_t i = 0;
    for (; i + FN(VL) <= n; i += FN(VL)) {
        VEC x = FN(min)(FN(set)(EXP_HIGH), FN(ld)(src + i));
        FN(st)(dst + i, FN(nan_quiet)(FN(exp_nonpos)(x)));
    }
    for (; i < n; i++) dst[i] = FN(exp_one)(src[i]);
}

static T FN(sum)(const T *src, int64_t n) {
    VEC acc[FN(GROUP)];
    for (int g = 0; g < FN(GROUP); g++) acc[g] = FN(set)(0);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int g = 0; g < FN(GROUP); g++) acc[g] = FN(add)(acc[g], FN(ld)(src + i + g * FN(VL)));
    T lane[LANES];
    for (int g = 0; g < FN(GROUP); g++) FN(st)(lane + g * FN(VL), acc[g]);
    for (int64_t rest = 0; i < n; i++, rest++) lane[rest] += src[i];
    return FN(quiet)(FN(tree)(lane));
}

/* Largest element; a NaN is passed over and comes back through the sum of exponentials. Order does not matter. */
static T FN(row_max)(const T *src, int64_t n) {
    VEC acc[FN(GROUP)];
    for (int g = 0; g < FN(GROUP); g++) acc[g] = FN(set)(-(T)INFINITY);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int g = 0; g < FN(GROUP); g++) acc[g] = FN(max)(FN(ld)(src + i + g * FN(VL)), acc[g]);
    T lane[LANES], max = -(T)INFINITY;
    for (int g = 0; g < FN(GROUP); g++) FN(st)(lane + g * FN(VL), acc[g]);
    for (int j = 0; j < LANES; j++) max = lane[j] > max ? lane[j] : max;
    for (; i < n; i++) max = src[i] > max ? src[i] : max;
    return max;
}

/* dst = exp(src - max); returns the sum, in the order of FN(sum). */
static T FN(row_exp)(const T *src, T *dst, int64_t n, T max) {
    VEC acc[FN(GROUP)], top = FN(set)(max);
    for (int g = 0; g < FN(GROUP); g++) acc[g] = FN(set)(0);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int g = 0; g < FN(GROUP); g++) {
            VEC e = FN(exp_nonpos)(FN(sub)(FN(ld)(src + i + g * FN(VL)), top));
            FN(st)(dst + i + g * FN(VL), e);
            acc[g] = FN(add)(acc[g], e);
        }
    T lane[LANES];
    for (int g = 0; g < FN(GROUP); g++) FN(st)(lane + g * FN(VL), acc[g]);
    for (int64_t rest = 0; i < n; i++, rest++) {
        dst[i] = FN(exp_one)(src[i] - max);
        lane[rest] += dst[i];
    }
    return FN(tree)(lane);
}

/* dst = src / by, NaN made quiet. */
static void FN(row_divide)(const T *src, T *dst, int64_t n, T by) {
    VEC d = FN(set)(by);
    int64_t i = 0;
    for (; i + FN(VL) <= n; i += FN(VL)) FN(st)(dst + i, FN(nan_quiet)(FN(div)(FN(ld)(src + i), d)));
    for (; i < n; i++) dst[i] = FN(quiet)(src[i] / by);
}

typedef struct FN(rows_job) {
    const T *src;
    T *dst;
    int64_t rows, n, rows_step;
    void (*row)(const T *src, T *dst, int64_t n);
} FN(rows_job);

static void FN(rows_task)(void *ctx, uint64_t i, uint32_t worker) {
    (void)worker;
    const FN(rows_job) *j = ctx;
    int64_t r0 = (int64_t)i * j->rows_step, r1 = r0 + j->rows_step < j->rows ? r0 + j->rows_step : j->rows;
    for (int64_t r = r0; r < r1; r++) j->row(j->src + r * j->n, j->dst + r * j->n, j->n);
}

/* Calls row for each of them; a task is some ROW_BYTES of rows, so that handing it out costs nothing beside it. */
static void FN(each_row)(const T *src, T *dst, int64_t rows, int64_t n, uint32_t threads, void (*row)(const T *, T *, int64_t)) {
    if (rows <= 0 || n <= 0) return;
    int64_t fit = ROW_BYTES / (int64_t)sizeof(T) / n;
    FN(rows_job) j = { .src = src, .dst = dst, .rows = rows, .n = n, .rows_step = fit > 1 ? fit : 1, .row = row };
    assay_parallel(threads, (uint64_t)((rows + j.rows_step - 1) / j.rows_step), FN(rows_task), &j);
}

static void FN(softmax_row)(const T *src, T *dst, int64_t n) {
    T sum = FN(row_exp)(src, dst, n, FN(row_max)(src, n));
    FN(row_divide)(dst, dst, n, sum);
}

static void FN(softmax)(const T *src, T *dst, int64_t rows, int64_t n, uint32_t threads) {
    FN(each_row)(src, dst, rows, n, threads, FN(softmax_row));
}
